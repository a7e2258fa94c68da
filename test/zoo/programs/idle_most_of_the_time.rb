# Healthy: a service inside a company that is asked once in four seconds, for a page of 3,000 rows. It holds the last page for each
# of five departments.
#
# kind: steady
# settles: 20
# every: 60
require_relative "../load"

PAGES = {}
Load.run(0.25) do |n|
  PAGES[n % 5] = Array.new(3_000) { |i| { row: i, text: "row #{i} of request #{n}" } }
end
