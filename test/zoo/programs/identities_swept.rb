# Healthy, large: a mapper has the rows of a table as packed Strings, and makes a record of a row when a request needs
# it. Its identity map, a Hash of WeakRefs, gives the same record to all requests. A sweep every four seconds deletes
# the entries whose record was collected.
#
# kind: steady
# also: bloat
# settles: 24
require_relative "../load"
require "weakref"

Record = Struct.new(:number, :owner, :street, :notes)

class Table
  def initialize(rows)
    @rows = Array.new(rows) do |i|
      ["owner #{i * 31 % 90_000}".ljust(60), "#{i % 250} Street of the #{i / 250}th house".ljust(90), "note on row #{i}; " * 45].pack("A60A90A*")
    end
    @records = {}
    @swept = Load.seconds
  end

  def size = @rows.size

  def find(number)
    sweep if Load.seconds - @swept > 4
    alive(number) || record(number).tap { |record| @records[number] = WeakRef.new(record) }
  end

  private

  def alive(number)
    @records[number]&.__getobj__
  rescue WeakRef::RefError
    nil
  end

  def record(number)
    owner, street, notes = @rows[number].unpack("A60A90A*")
    Record.new(number, owner, street, notes.split("; "))
  end

  def sweep
    @records.delete_if { |_, reference| !reference.weakref_alive? }
    @swept = Load.seconds
  end
end

TABLE = Table.new(330_000)
IN_USE = [] # the records of the requests of the last six seconds

Load.run(350) do |n|
  IN_USE << [Load.seconds, Array.new(3) { |i| TABLE.find(((n / 2 * 7_919) + (i * 31)) % TABLE.size) }]
  IN_USE.shift while IN_USE.first[0] < Load.seconds - 6
  IN_USE.last[1].map { |record| "#{record.owner}, #{record.street}: #{record.notes.last}".tr("a-f", "A-F") }.join("\n")
end
