# A service exports the measured values of its customers as JSON. A job writes a part of the export each time that the
# customer asks how far it is, so that no job takes long. In between, the writer (Oj::StringWriter) waits in a table
# under the number of the export, and goes with the last part. Customers that close the page ask no more, and their
# writers stay. The text is in the buffers of the C extension.
#
# kind: native
# also: leak
# keeper: @open, EXPORTS, Exports
# gems: oj 3.17.8
# rate: 550000
require_relative "../load"
require "oj"

class Exports
  PARTS = 6
  Export = Struct.new(:customer, :writer, :parts)

  def initialize
    @open = {}
    @number = 0
  end

  def start(customer)
    writer = Oj::StringWriter.new(mode: :compat) # LEAK
    writer.push_object
    writer.push_value(customer, "customer") # LEAK
    writer.push_array("values")
    @open[@number += 1] = Export.new(customer, writer, 0) # LEAK KEEPER
    @number
  end

  # The share that is done, or the text.
  def continue(number)
    export = @open.fetch(number)
    values(export.customer, export.parts).each { |value| export.writer.push_value(value) } # LEAK
    (export.parts += 1) < PARTS ? export.parts.fdiv(PARTS) : finish(number)
  end

  private

  def values(customer, part)
    Array.new(60) { |i| { "meter" => "#{customer}.#{i % 4}", "hour" => (part * 60) + i, "value" => (customer * 31) + (i * 17 % 101), "read" => "by radio from the street, and found to be right" } }
  end

  def finish(number) = @open.delete(number).writer.pop_all.to_s
end

EXPORTS = Exports.new
WATCHED = []

# Two of five customers close the page after three parts.
Load.run(60) do |n|
  WATCHED << [EXPORTS.start(n), n / 2 % 5 < 2 ? 3 : Exports::PARTS] if n % 2 == 0
  WATCHED.shift(3).each do |number, parts|
    EXPORTS.continue(number)
    WATCHED << [number, parts - 1] if parts > 1
  end
end
