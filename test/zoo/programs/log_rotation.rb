# A worker rotates logs every eight seconds, each time more of them: all lines at once in one array, which is garbage
# when they are written. Memory goes up in steps and stays.
#
# kind: bloat
# tuned: yes
# also: steady, fragmentation
require_relative "../load"
require "zlib"
require "stringio"

class Rotation
  def initialize(days) = @days = days

  def read
    (1..@days * 40_000).map { |i| "2018-09-10T12:00:#{i % 60} worker[#{i}] processed job #{i * 7919 % 100_003} in #{i % 977}ms" }
  end

  def run
    lines = read
    out = StringIO.new
    gzip = Zlib::GzipWriter.new(out, Zlib::BEST_SPEED)
    lines.each { |line| gzip.puts line }
    gzip.close
    out.string.bytesize
  end
end

def poll = Array.new(200) { |i| { id: i, state: "ok" } }.size

rotated = 0
Load.run(60) do
  poll
  Rotation.new((rotated += 1) * 2).run if Load.seconds > (rotated + 1) * 8
end
