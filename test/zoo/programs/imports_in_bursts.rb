# A leak in bursts: each nine seconds, for two seconds, an import registers the rows that it could not match, for a report that
# was never written. In the pauses, pages are served from a small cache.
#
# kind: leak
# rate: 58000
require_relative "../load"

Row = Struct.new(:number, :cells, :reason)

class Import
  @unmatched = []
  class << self
    def read(number) = @unmatched << Row.new(number, Array.new(12) { |i| "cell #{i} of row #{number}" }, "no article #{number}") # LEAK KEEPER
  end
end

PAGES = {}
Load.run(200) do |n|
  Import.read(n) if (Load.seconds % 9).between?(3, 5) # LEAK
  PAGES[n % 300] = Array.new(40) { |i| "<li>#{n} #{i}</li>" }.join
end
