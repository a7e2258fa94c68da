# An extension in C has a data type without a function that frees: the Ruby object is collected, its 12 KB of malloc memory
# are lost.
#
# kind: native
# line: frames.c, frames.so
# rate: 490000
require_relative "../load"
require_relative "../extension"
Extension.load("frames")

def thumbnail(number)
  frame = Frames::Leaky.new(12_000) # LEAK
  frame.sum + number
end

Load.run(40) do |n|
  thumbnail(n) # LEAK
  Array.new(60) { |i| "row #{i} of #{n}" }.join
end
