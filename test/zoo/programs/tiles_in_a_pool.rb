# Healthy: a map server draws tiles into buffers of malloc (100 KB) which it takes from a pool. When the pool is empty, it makes a buffer, and
# a buffer is never freed. Tiles that are drawn at the same time get more until two fifths of the run: 150 buffers.
#
# kind: steady
# also: bloat
# settles: 40%
require_relative "../load"
require_relative "../extension"
Extension.load("frames")

FREE = []
DRAWING = []

def draw(number)
  DRAWING << [Load.seconds + 1.5, FREE.pop || Frames::Frame.new(100_000)]
  FREE << DRAWING.shift.last while DRAWING.first.first < Load.seconds
  Array.new(30) { |i| "label #{i} of tile #{number}" }
end

Load.run(->(second) { 100 * [0.1 + (second / (0.4 * Load::SECONDS)), 1].min }) { |n| draw(n) }
