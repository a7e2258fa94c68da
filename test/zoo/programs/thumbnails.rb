# A service makes thumbnails of pictures by ChunkyPNG. A picture is one large Array of pixels; its size differs from one to the
# next, and nothing of it stays.
#
# kind: steady
# tuned: yes
# also: bloat, fragmentation
# gems: chunky_png 1.4.0
require_relative "../load"
require "chunky_png"

RANDOM = Random.new(7)

def picture = ChunkyPNG::Image.new(120 + RANDOM.rand(280), 120 + RANDOM.rand(180), ChunkyPNG::Color.rgb(RANDOM.rand(255), 80, 90))
def thumbnail(image) = image.resample_nearest_neighbor(48, 32).to_blob(:fast_rgb)

Load.run(8) { thumbnail(picture).bytesize }
