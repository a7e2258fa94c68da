# Healthy: the last 12,000 lines of the log are kept in memory for a page of support. A line that the ring drops is first
# compressed, in blocks of 1,000 lines, of which 20 are kept.
#
# kind: steady
# also: bloat
# settles: 42
require_relative "../load"
require "zlib"

class Log
  def initialize = (@lines, @dropped, @blocks = [], [], [])

  def write(line)
    @lines << line
    @dropped << @lines.shift if @lines.size > 12_000
    compress if @dropped.size == 1_000
  end

  private

  def compress
    @blocks << Zlib.deflate(@dropped.join("\n"))
    @blocks.shift if @blocks.size > 20
    @dropped.clear
  end
end

LOG = Log.new
Load.run(900) { |n| LOG.write("#{n} GET /items/#{n % 977}?page=#{n % 7} took #{n * 31 % 400} ms for user #{n % 71}") }
