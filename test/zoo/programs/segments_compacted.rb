# Healthy: a store of keys and values as an LSM tree has it. Writes go to a table in memory; a full table becomes a segment,
# four segments are merged into one of the next level, and values older than a fifth of the run are dropped in the merge.
#
# kind: steady
# also: bloat
# settles: 34
require_relative "../load"

Segment = Struct.new(:level, :rows)
KEEP = Load::SECONDS / 5

class Store
  def initialize = (@table, @segments = {}, [])

  def put(key, value)
    @table[key] = [Load.seconds, value]
    flush if @table.size >= 200
  end

  def get(key) = @table[key] || @segments.reverse_each.find { |segment| segment.rows[key] }&.rows&.[](key)

  private

  def flush
    @segments << Segment.new(0, @table.sort.to_h)
    @table = {}
    3.times { |level| merge(level) }
  end

  def merge(level)
    of_level = @segments.select { |segment| segment.level == level }
    return if of_level.size < 4

    rows = of_level.map(&:rows).inject(:merge).reject { |_, (at, _)| at < Load.seconds - KEEP }
    @segments = [Segment.new(level + 1, rows), *(@segments - of_level)].sort_by { |segment| -segment.level }
    @segments.each { |segment| segment.rows.reject! { |_, (at, _)| at < Load.seconds - KEEP } }
  end
end

STORE = Store.new
Load.run(350) do |n|
  STORE.put("key-#{n * 7919 % 1_000_003}", "value #{n} " * 50)
  STORE.get("key-#{n * 31 % 1_000_003}")
end
