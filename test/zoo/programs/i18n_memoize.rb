# I18n with Memoize keeps the answer for each key that was ever asked for, found or not. The keys hold what visitors typed.
#
# kind: leak
# tuned: yes
# line: i18n/
# keeper: i18n/backend/memoize.rb, @memoized_lookup, concurrent/, @@normalized_key_cache, I18n::Base#normalize_key
# gems: i18n 1.15.2
require_relative "../load"
require "i18n"
require "i18n/backend/memoize"
I18n::Backend::Simple.include(I18n::Backend::Memoize)
I18n.available_locales = [:en]
I18n.backend.store_translations(:en, { search: { title: "Results", none: "Nothing found" } })

def search(words)
  heading = I18n.t("search.hint.#{words}", default: I18n.t("search.none")) # LEAK KEEPER
  Array.new(100) { |i| "<li>#{heading} #{i}</li>" }.join
end

Load.run(200) { |n| search("shoes size #{n} in red and blue".tr(" ", "_")) } # LEAK
