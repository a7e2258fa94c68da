# A booking service lets its tenants change its phrases. When a tenant publishes, the phrases are stored in I18n as a language of this
# tenant's and this version's; the versions before stay in the backend.
#
# kind: leak
# line: i18n
# keeper: @translations, i18n, I18n, BACKEND
# gems: i18n 1.15.2, concurrent-ruby 1.3.8
# rate: 1700000
require_relative "../load"
require "i18n"

I18n.enforce_available_locales = false
BACKEND = I18n.backend
PAGES = %i[search room guests payment thanks].freeze

module Phrases
  def self.of(tenant, version) # "[tenant 7] Book the room …"
    PAGES.to_h do |page|
      [page, Array.new(40) { |i| [:"text_#{i}", "[tenant #{tenant}] phrase #{i} of #{page}, version #{version}: %{name}, book now"] }.to_h] # LEAK
    end
  end

  def self.publish(tenant, version)
    BACKEND.store_translations(:"en-#{tenant}-#{version}", Phrases.of(tenant, version)) # LEAK KEEPER
  end
end

def page(locale, name) = PAGES.map { |page| Array.new(12) { |i| I18n.t("#{page}.text_#{i * 3}", locale: locale, name: name) }.join("<br>") }.join("\n")

version = 0
Load.run(160) do |n|
  Phrases.publish(n % 90, version += 1) if n % 4 == 1 # LEAK
  page(:"en-#{((version - 1) * 4 + 1) % 90}-#{version}", "guest #{n}").size
end
