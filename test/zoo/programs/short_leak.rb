# A short run, eight profiles: each import adds its rows to a table of rows that were seen, and none is ever dropped.
#
# kind: leak
# tuned: yes
# seconds: 17
require_relative "../load"

class Import
  def initialize = @seen = {}

  def run(number)
    30.times { |i| @seen["#{number}/#{i}"] = "row #{i} of import #{number}" } # LEAK KEEPER
  end
end

IMPORT = Import.new
Load.run(200) { |n| IMPORT.run(n) } # LEAK
