# A search compiles a pattern for each word that somebody looks for, and keeps it for the next one.
#
# kind: leak
# tuned: yes
# also: native
# keeper: PATTERNS
require_relative "../load"

class Search
  PATTERNS = Hash.new { |all, word| all[word] = /\b#{Regexp.escape(word)}(?:s|es|ing)?\b/i } # LEAK KEEPER
  TEXT = "the quick brown fox jumps over the lazy dog " * 20

  def count(word) = TEXT.scan(PATTERNS[word]).size
end

search = Search.new
Load.run(40) { |n| 5.times { |k| search.count("word#{n}x#{k}") } }
