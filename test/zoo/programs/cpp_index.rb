# An extension in C++ keeps each answer in a std::unordered_map that is never cleared.
#
# kind: native
# tuned: yes
# line: geo.cc, geo.so
require_relative "../load"
require_relative "../extension"
Extension.load("geo")

def track(number) = Geo.distance("visitor #{number} at corner #{number % 89}") # LEAK

Load.run(500) do |n|
  track(n)
  Array.new(50) { |i| "row #{i}" }
end
