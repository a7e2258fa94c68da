# Healthy, large: a store has 120,000 rows in memory. A report works on a snapshot of the store for five seconds, and
# then the next report takes another one. An update puts its version in front of the older ones of the row. When a
# snapshot is given back, the versions that no snapshot can see are removed.
#
# kind: steady
# also: bloat
# settles: 8
require_relative "../load"
require "set"

class Store
  Version = Struct.new(:number, :text)

  def initialize(texts)
    @number = 0
    @rows = texts.map { |text| [Version.new(0, text)] }
    @updated = Set.new
    @snapshots = []
  end

  def size = @rows.size

  def update(place, text)
    @rows[place].unshift(Version.new(@number += 1, text))
    @updated << place
  end

  def read(place, snapshot = @number) = @rows[place].find { |version| version.number <= snapshot }.text

  def take_snapshot = @number.tap { |number| @snapshots << number }

  def give_back(snapshot)
    @snapshots.delete_at(@snapshots.index(snapshot))
    oldest = @snapshots.min || @number
    @updated.each { |place| trim(@rows[place], oldest) }
    @updated = @updated.select { |place| @rows[place].size > 1 }
  end

  private

  # Down to the newest version that the oldest snapshot sees.
  def trim(versions, oldest)
    last = versions.index { |version| version.number <= oldest }
    versions.pop(versions.size - last - 1)
  end
end

def row(place, version) = "row #{place}, version #{version}: #{"a column of the table with some text in it; " * 38}#{place * 7_919 % 90_000}"

STORE = Store.new(Array.new(120_000) { |i| row(i, 0) })

snapshot = STORE.take_snapshot
taken = Load.seconds
total = 0
Load.run(800) do |n|
  STORE.update(n * 7_919 % STORE.size, row(n * 7_919 % STORE.size, n))
  4.times { |i| total += STORE.read((n * 31 + i) % STORE.size, snapshot).bytesize }
  next if Load.seconds - taken < 5

  STORE.give_back(snapshot)
  snapshot = STORE.take_snapshot
  taken = Load.seconds
end
