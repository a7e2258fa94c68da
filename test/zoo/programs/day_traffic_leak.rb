# The same traffic of a day, and each request leaves its search in a list of recent searches that nobody shortens: the leak
# rests at night.
#
# kind: leak
# tuned: yes
# seconds: 121
require_relative "../load"

class Searches
  def initialize = @recent = []
  def search(words) = @recent << { words: words, hits: Array.new(15) { |i| "#{words} #{i}" } } # LEAK KEEPER
end

SEARCHES = Searches.new
DAY = ->(second) { 120 * (1 - Math.cos(second * 2 * Math::PI / 80)) }
Load.run(DAY) do |n|
  SEARCHES.search("shoes #{n}") # LEAK
  Array.new(80) { |i| "<li>#{n} #{i}</li>" }.join
end
