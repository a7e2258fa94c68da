# Large: an analysis joins the clicks of a shop's visitors with the orders that follow. A click waits in a buffer for
# its order until the watermark has passed it by five seconds, and then goes. The watermark is the least time of all
# sources, since none may be ahead of another. One of the sources, a kiosk in a branch, is switched off and says
# nothing any more, so the watermark stands still and no click is ever too old.
#
# kind: leak
# starts: 8
# rate: 3700000
require_relative "../load"

Visitor = Struct.new(:number, :city, :pages)
Click = Struct.new(:visitor, :time, :page, :headers)

class Watermark
  def initialize(sources) = @times = sources.to_h { |source| [source, 0.0] }

  def seen(source, time)
    @times[source] = time if time > @times[source]
  end

  def time = @times.each_value.min
end

class Join
  WINDOW = 5

  attr_reader :pairs

  def initialize(watermark)
    @watermark = watermark
    @clicks = {}
    @pairs = 0
  end

  def click(source, click)
    @watermark.seen(source, click.time)
    (@clicks[click.visitor] ||= []) << click # LEAK KEEPER
  end

  def order(source, visitor, time)
    @watermark.seen(source, time)
    @pairs += @clicks.fetch(visitor, []).count { |click| time - click.time < WINDOW }
  end

  def evict
    limit = @watermark.time - WINDOW
    @clicks.delete_if do |_, clicks|
      clicks.shift while clicks.any? && clicks.first.time < limit
      clicks.empty?
    end
  end
end

VISITORS = Array.new(70_000) do |i|
  pages = Array.new(10) { |k| "visitor #{i} read page #{k}: #{"chairs, tables and lamps for the garden, " * 5}#{i * k % 977} times" }
  Visitor.new(i, "city #{i * 31 % 900}", pages)
end

SOURCES = %w[web app kiosk].freeze
JOIN = Join.new(Watermark.new(SOURCES))

# The kiosk is switched off eight seconds after the start.
def source(number)
  number % 10 == 0 && Load.seconds < 8 ? "kiosk" : SOURCES[number % 2]
end

# About 10 KB.
def click(number)
  visitor = VISITORS[number * 7_919 % VISITORS.size]
  headers = Array.new(12) { |i| "x-field-#{i}: #{visitor.pages[i % 10].byteslice(0, 40)} #{"and the text of the page that was open, " * 18}#{number}" } # LEAK
  Click.new(visitor.number, Load.seconds, "/articles/#{number * 31 % 9_000}?from=#{visitor.city}", headers) # LEAK
end

Load.run(450) do |n|
  JOIN.click(source(n), click(n)) # LEAK
  JOIN.order(source(n), n * 7_919 % VISITORS.size, Load.seconds) if n % 9 == 0
  JOIN.evict if n % 450 == 0
end
