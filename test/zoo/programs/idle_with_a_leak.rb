# A service that is asked once in three seconds, for a page of 2,000 rows, and leaves 100 rows of each page in a list of examples.
# There are few major GCs, and 3 KB a second.
#
# kind: leak
# rate: 2700
# every: 60
require_relative "../load"

EXAMPLES = []
Load.run(0.34) do |n|
  rows = Array.new(2_000) { |i| "row #{i} of request #{n}" } # LEAK
  EXAMPLES.concat(rows.last(100)) # LEAK KEEPER
  rows.join
end
