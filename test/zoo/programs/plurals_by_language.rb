# A shop writes "3 orders" in the language of the visitor: it passes the header Accept-Language to pluralize as it
# comes. The app of the shop adds the number of its installation to this header. Active Support makes rules for each
# language that it does not have, and retains them in a table of the class. No language is ever removed from it.
#
# kind: leak
# line: active_support/inflector, i18n/, concurrent/
# keeper: @__instance__, Inflections, active_support/inflector, fallbacks, concurrent/collection/map
# gems: activesupport 7.2.2.1
# rate: 520000
require_relative "../load"
require "active_support"
require "active_support/inflector"

class Summary
  WORDS = %w[order parcel voucher message address].freeze

  # The header has the languages of the visitor, the preferred one first.
  def text(counts, header)
    language = header.to_sym
    WORDS.zip(counts).map { |word, count| "#{count} #{count == 1 ? word : ActiveSupport::Inflector.pluralize(word, language)}" }.join(", ") # LEAK
  end
end

LANGUAGES = ["de-AT,de;q=0.9", "fr-CA,fr;q=0.8", "pt-BR,pt;q=0.9", "nl-BE,nl;q=0.7"].freeze
SUMMARY = Summary.new

# Every second visitor uses the app.
def header(number)
  languages = LANGUAGES[number / 2 % LANGUAGES.size]
  number.odd? ? "#{languages},x-install-#{number * 2_654_435_761 % 4_294_967_296}" : languages # LEAK
end

Load.run(500) do |n|
  SUMMARY.text([n % 7, n % 3, 0, n % 19, 2], header(n)) # LEAK
end
