# A shipper follows the log of each build on a machine, as tail -f does, and sends whole lines to a log server. A part
# of a line waits until its end is written. When a build's file is gone, the shipper closes it, but forgets it only if
# nothing waits. A runner that kills a build at a time limit leaves a last line without an end, which waits for ever.
#
# kind: leak
# keeper: @tails, SHIPPER
# rate: 660000
require_relative "../load"
require "tmpdir"
require "fileutils"

class Tail
  SIZE = 65_536

  attr_reader :path

  def initialize(path)
    @path = path
    @file = File.open(path) # LEAK
    @rest = +"" # LEAK
  end

  def each_line
    while (part = @file.read_nonblock(SIZE, exception: false))
      @rest << part # LEAK
      while (line = @rest.slice!(/\A.*\n/)) # LEAK
        yield line
      end
    end
  end

  def gone? = !File.exist?(@path)
  def waiting? = !@rest.empty?
  def closed? = @file.closed?
  def close = @file.close
end

class Shipper
  attr_reader :bytes

  def initialize
    @tails = {}
    @bytes = 0
  end

  def follow(path)
    @tails[path] ||= Tail.new(path) # LEAK KEEPER
  end

  def ship(path)
    @tails.fetch(path).each_line { |line| @bytes += line.bytesize } # LEAK
  end

  def forget(path)
    tail = @tails.fetch(path)
    return unless tail.gone?

    tail.close
    @tails.delete(path) unless tail.waiting?
  end
end

# What a build writes: some lines, then the measured coverage as one long line of JSON.
def output(build)
  steps = Array.new(30) { |i| "step #{i} of build #{build}: compiled in #{build * i % 977} ms\n" }
  files = Array.new(300) { |i| "{\"file\":\"lib/part_#{i}/model_#{build * i % 89}.rb\",\"hits\":[#{i},#{build % 71},1,1,0]}" }
  "#{steps.join}[#{files.join(",")}]\n"
end

FOLDER = Dir.mktmpdir("builds")
at_exit { FileUtils.remove_entry(FOLDER) }
SHIPPER = Shipper.new

# Two of three builds are killed while they write the coverage.
Load.run(62) do |n|
  path = File.join(FOLDER, "build-#{n}.log")
  text = output(n)
  text = text[0, text.size - 1_500] unless n % 3 == 0
  File.write(path, text)
  SHIPPER.follow(path) # LEAK
  SHIPPER.ship(path) # LEAK
  File.delete(path)
  SHIPPER.forget(path)
end
