# Healthy, large: a database in memory has 200,000 rows. Each change is noted in a redo log, with the row before and
# after it. A checkpoint every eight seconds writes the changed rows and clears the log, so the log grows for eight
# seconds and is empty again.
#
# kind: steady
# also: bloat
# settles: 14
require_relative "../load"
require "zlib"

class Database
  EVERY = 8
  Change = Struct.new(:number, :place, :before, :after)

  def initialize(rows)
    @rows = rows
    @log = []
    @changed = {}
    @number = 0
    @written = Load.seconds
  end

  def size = @rows.size
  def row(place) = @rows[place]

  def update(place, after)
    @log << Change.new(@number += 1, place, @rows[place], after)
    @changed[place] = @number
    @rows[place] = after
    checkpoint if Load.seconds - @written > EVERY
  end

  private

  def checkpoint
    File.open(File::NULL, "w") { |file| @changed.each_key { |place| file.write(Zlib.crc32(@rows[place]), @rows[place]) } }
    @log.clear
    @changed.clear
    @written = Load.seconds
  end
end

def row(place, version) = "row #{place}, version #{version}; #{"column of the table with some text in it, " * 34}#{place * 7_919 % 90_000}".b

DATABASE = Database.new(Array.new(200_000) { |i| row(i, 0) })

Load.run(800) do |n|
  place = n * 611_953 % DATABASE.size
  DATABASE.update(place, row(place, n))
  DATABASE.row(n * 31 % DATABASE.size).upcase.sum
end
