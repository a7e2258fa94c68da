# Large: a store in memory keeps old versions of its rows as long as a snapshot can see them. A report took a snapshot at the start and failed
# before it gave it back: each update keeps the version before, and the sweep finds a snapshot that still needs them.
#
# kind: leak
# keeper: @rows, STORE
# starts: 6
# rate: 1150000
require_relative "../load"

Version = Struct.new(:from, :row)

class Store
  def initialize(rows)
    @now = 0
    @snapshots = {}
    @rows = Array.new(rows) { |i| [Version.new(0, values(i, 0))] }
  end

  def snapshot = @snapshots[@snapshots.size + 1] = @now

  def update(number)
    versions = @rows[number]
    change = @now += 1
    versions << Version.new(change, values(number, change)) # LEAK KEEPER
    sweep(versions)
  end

  def read(number, at = @now) = @rows[number].reverse_each.find { |version| version.from <= at }&.row

  private

  # Drops the versions that no snapshot can see.
  def sweep(versions)
    oldest = @snapshots.each_value.min || @now
    versions.shift while versions.size > 1 && versions[1].from <= oldest
  end

  def values(number, change)
    owner = "owner #{number * 37 % 90_000} of #{"the branch " * 9}#{number % 300}" # LEAK
    ["account #{number}, written by change #{change}", owner, "#{"note on the account; " * 12}#{change}"] # LEAK
  end
end

STORE = Store.new(560_000)
STORE.snapshot

Load.run(1_600) do |n|
  STORE.update((n * 7_919) % 560_000) # LEAK
  36.times { |i| STORE.read((n * 31 * (i + 1)) % 560_000).join(";").tr("aeiou", "*").size }
end
