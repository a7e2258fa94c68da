# A class method that is memoized (memery) gets a moment as an argument, so that each call adds an entry which is never
# found again.
#
# kind: leak
# line: memery
# keeper: memery, @_memery_memoized_values
# gems: memery 1.8.0
# rate: 110000
require_relative "../load"
require "memery"

class Quotes
  class << self
    include Memery
    memoize def price(article, at) = { article: article, at: at, steps: Array.new(10) { |i| "#{article}: step #{i} at #{at}" } } # LEAK KEEPER
  end
end

Load.run(90) { |n| Quotes.price("article #{n % 20}", Load.seconds)[:steps].size } # LEAK
