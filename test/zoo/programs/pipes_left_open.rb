# Six requests a second open a pipe to a helper and leave both ends in a table of running helpers: file descriptors, the IO objects,
# and their buffers of 8 KB.
#
# kind: leak
# also: native
# rate: 49000
require_relative "../load"

class Helpers
  def initialize = @running = {}

  def ask(number)
    reader, writer = IO.pipe # LEAK
    writer.sync = false
    writer.write("question #{number}\n" * 50) # LEAK
    writer.flush
    @running[number] = [reader, writer, reader.readpartial(100)] # LEAK KEEPER
  end
end

HELPERS = Helpers.new
Load.run(6) do |n|
  HELPERS.ask(n) # LEAK
  Array.new(2_000) { |i| "<li>#{n} #{i}</li>" }.join
end
