# Healthy: a player decodes 60 frames a second into buffers of malloc, 64 KB to 190 KB each (7 MB a second), and holds the
# last 90. A frame is freed with its Ruby object.
#
# kind: steady
# also: bloat
# settles: 2
require_relative "../load"
require_relative "../extension"
Extension.load("frames")

SHOWN = []

def decode(number)
  SHOWN << Frames::Frame.new(65_536 + (number % 3 * 65_536))
  SHOWN.shift if SHOWN.size > 90
  SHOWN.last.sum
end

Load.run(60) do |n|
  decode(n)
  Array.new(20) { |i| "subtitle #{i} at frame #{n}" }
end
