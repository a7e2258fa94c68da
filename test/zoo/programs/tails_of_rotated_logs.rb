# A shipper of logs follows the files of 40 services. It knows a file by its inode, so that a file which is renamed is
# not read again. For each inode it has the offset, the half of a line that was read last, and the last lines, to show
# them. A service renames its file every two seconds and begins a new one. The shipper then follows the new inode, and
# keeps what it knows about the old one.
#
# kind: leak
# keeper: @tails, SHIPPER, Shipper
# rate: 370000
require_relative "../load"
require "tmpdir"

class Shipper
  Tail = Struct.new(:inode, :offset, :rest, :lines)
  SHOWN = 100

  attr_reader :shipped

  def initialize
    @tails = {}
    @shipped = 0
  end

  def poll(path)
    File.open(path, "rb") do |file|
      tail = (@tails[file.stat.ino] ||= Tail.new(file.stat.ino, 0, "", [])) # LEAK KEEPER
      file.seek(tail.offset)
      text = tail.rest + file.read
      tail.offset = file.pos
      *lines, tail.rest = text.split("\n", -1) # LEAK
      ship(tail, lines)
    end
  end

  def page = @tails.values.last(5).map { |tail| "#{tail.inode}: #{tail.lines.last}" }.join("\n")

  private

  def ship(tail, lines)
    @shipped += lines.size
    tail.lines.concat(lines)
    tail.lines.shift(tail.lines.size - SHOWN) if tail.lines.size > SHOWN
  end
end

# A service that writes its log.
class Service
  attr_reader :path

  def initialize(folder, number)
    @path = File.join(folder, "service-#{number}.log")
    @number = number
    @files = 0
  end

  def write(lines, number)
    text = Array.new(lines) { |i| "#{number}.#{i} service #{@number}: answered GET /orders/#{number * 31 % 9_973} in #{i % 70} ms, #{"nothing to report, " * 4}200\n" }.join
    File.write(@path, text, mode: "ab")
  end

  def rotate
    File.rename(@path, "#{@path}.#{@files += 1}")
  end
end

SHIPPER = Shipper.new

Dir.mktmpdir do |folder|
  services = Array.new(40) { |number| Service.new(folder, number) }
  Load.run(80) do |n|
    service = services[n % 40]
    service.write(25, n)
    SHIPPER.poll(service.path) # LEAK
    service.rotate if n / 40 % 4 == 3
    SHIPPER.page if n % 40 == 0
  end
end
