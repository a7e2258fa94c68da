# A WeakKeyMap from a record to its decorator should drop the decorator with the record. The decorator refers to the record,
# and the map to the decorator, so that neither is ever dropped.
#
# kind: leak
# keeper: WeakKeyMap
# rate: 220000
require_relative "../load"

Record = Struct.new(:id, :cells)

class Decorator
  DECORATORS = ObjectSpace::WeakKeyMap.new
  def self.of(record) = DECORATORS[record] ||= new(record) # LEAK KEEPER

  def initialize(record)
    @record = record
    @titles = record.cells.map { |cell| cell.upcase } # LEAK
  end

  def title = @titles.first
end

Load.run(80) { |n| Decorator.of(Record.new(n, Array.new(15) { |i| "cell #{i} of record #{n}" })).title } # LEAK
