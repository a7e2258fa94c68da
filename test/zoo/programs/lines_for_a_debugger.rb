# A shipping service gets its tariffs as Ruby files, which it writes to a folder, loads and deletes. Somebody who looked for an error has
# left SCRIPT_LINES__ in it, so Ruby keeps the lines of all files that were loaded since.
#
# kind: leak
# rate: 2050000
require_relative "../load"
require "tmpdir"

SCRIPT_LINES__ = {} # KEEPER

module Tariffs
  CURRENT = {}

  def self.define(carrier, rows) = CURRENT[carrier] = rows

  def self.read(folder, carrier, number)
    path = File.join(folder, "carrier_#{carrier}_#{number}.rb")
    File.write(path, source(carrier, number))
    load path # LEAK KEEPER
    File.delete(path)
  end

  def self.source(carrier, number)
    rows = Array.new(560) { |zone| "  [#{zone}, #{100 + (zone * number % 800)}, \"zone #{zone} of carrier #{carrier}\", #{zone % 30}, \"valid from list #{number} on, parcels and pallets\"]," }
    "# Tariffs of carrier #{carrier}, list #{number}\nTariffs.define(#{carrier}, [\n#{rows.join("\n")}\n])\n"
  end

  def self.quote(carrier, weight) = CURRENT.fetch(carrier).lazy.map { |zone, cents, name, *| [cents * (weight + zone), name] }.min_by(3, &:first)
end

FOLDER = Dir.mktmpdir("tariffs")
at_exit { Dir.rmdir(FOLDER) if Dir.empty?(FOLDER) }
25.times { |carrier| Tariffs.read(FOLDER, carrier, 0) }

Load.run(220) do |n|
  Tariffs.read(FOLDER, n % 25, n) if n % 10 == 0 # LEAK
  Tariffs.quote(n % 25, n % 40).map { |cents, name| "#{name}: #{cents}" }.join("\n")
end
