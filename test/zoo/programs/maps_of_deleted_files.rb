# A search maps each day's file of an index into memory (IO::Buffer.map), and keeps the buffer of a file that it has replaced: two mappings
# of 200 KB a second, which are read once, so that they are resident. Neither the heap of Ruby nor malloc grows.
#
# kind: native
# also: leak
# keeper: @buffers
# rate: 400000
require_relative "../load"
require "tmpdir"
Warning[:experimental] = false

class Index
  SIZE = 200_000

  def initialize(folder) = (@path, @buffers = File.join(folder, "index"), [])

  def replace(number)
    File.delete(@path) if File.exist?(@path)
    File.write(@path, "entry #{number} " * (SIZE / 14))
    buffer = File.open(@path) { |file| IO::Buffer.map(file, nil, 0, IO::Buffer::READONLY) } # LEAK
    @buffers << buffer # LEAK KEEPER
    buffer.each_byte.sum % 7
  end
end

Dir.mktmpdir("zoo") do |folder|
  index = Index.new(folder)
  Load.run(2) { |n| index.replace(n) } # LEAK
end
