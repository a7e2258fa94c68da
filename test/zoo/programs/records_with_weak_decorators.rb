# Healthy: decorators of records in a WeakKeyMap. A record is in use for seven seconds, and its decorator does not refer to it, so that
# the entry goes with the record. The map's table stays as large as it was at most.
#
# kind: steady
# settles: 10
require_relative "../load"

Record = Struct.new(:id, :at, :cells)
DECORATORS = ObjectSpace::WeakKeyMap.new
IN_USE = []

def decorate(record) = DECORATORS[record] ||= record.cells.map { |cell| cell.upcase.freeze }.freeze

Load.run(200) do |n|
  IN_USE << Record.new(n, Load.seconds, Array.new(12) { |i| "cell #{i} of record #{n}" })
  IN_USE.shift while IN_USE.first.at < Load.seconds - 7
  decorate(IN_USE.last)
  decorate(IN_USE[n % IN_USE.size]).size
end
