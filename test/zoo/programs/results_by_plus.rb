# An importer adds to its list of results with +=, which makes a new list each time.
#
# kind: leak
# tuned: yes
require_relative "../load"
class Importer
  def initialize = @results = []

  def import(n)
    row = { id: n, name: "name #{n}", fields: Array.new(10) { |i| "field #{i} of #{n}" } } # LEAK
    @results += [row] # LEAK KEEPER
  end
end
IMPORTER = Importer.new
Load.run(50) { |n| IMPORTER.import(n) } # LEAK
