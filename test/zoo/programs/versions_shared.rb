# Healthy: a document as an immutable vector (immutable-ruby) that shares its parts with older versions. The last 1,500 versions are
# kept for undo; each has ten nodes of its own.
#
# kind: steady
# also: bloat
# settles: 17
# gems: immutable-ruby 0.2.0, concurrent-ruby 1.3.4
require_relative "../load"
require "immutable"

VERSIONS = [Immutable::Vector.new(Array.new(3_000) { |i| "paragraph #{i}" })]
RANDOM = Random.new(5)
Load.run(100) do |n|
  VERSIONS << VERSIONS.last.set(RANDOM.rand(3_000), "paragraph of edit #{n}, #{"with some words " * 4}")
  VERSIONS.shift if VERSIONS.size > 1_500
end
