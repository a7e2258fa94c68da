# Large: a service finds near copies of papers. It holds sketches, long whole numbers, of 21,000 works. A new paper
# comes in parts, and each part begins a cluster with a Set of its own. When two clusters turn out to be one, the
# numbers of the smaller are added to the larger one, and its parts lead to that from then on. The smaller Set stays.
#
# kind: leak
# keeper: @members, CLUSTERS, Clusters
# starts: 5
# rate: 3300000
require_relative "../load"
require "set"

# Which parts belong together: union and find.
class Clusters
  def initialize
    @parents = {}
    @members = {}
    @open = []
  end

  def begin_with(part, shingles)
    @parents[part] = part # LEAK
    @members[part] = Set.new(shingles) # LEAK KEEPER
  end

  def find(part)
    part = @parents[part] until @parents[part] == part
    part
  end

  def merge(one, other)
    larger, smaller = [find(one), find(other)].sort_by { |root| -@members[root].size }
    return larger if larger == smaller

    @members[larger].merge(@members[smaller])
    @parents[smaller] = larger
  end

  # A paper is complete: its cluster is taken out.
  def take(part)
    root = find(part)
    @members.delete(root)
  end
end

SKETCH = 1 << 4_800
RANDOM = Random.new(7)
Work = Struct.new(:title, :sketches)
WORKS = Array.new(21_000) { |i| Work.new("work #{i}", Array.new(24) { RANDOM.rand(SKETCH) }) }
CLUSTERS = Clusters.new

# A shingle is a number of 2,000 bits, made of the words in a window of the text.
def shingles(paper, part)
  seed = Random.new((paper * 64) + part)
  Array.new(80) { seed.rand(1 << 2_000) } # LEAK
end

def likeness(shingles, work)
  shingles.first(6).zip(work.sketches).sum { |shingle, sketch| (sketch & shingle).digits(1 << 64).sum & 255 }
end

# A paper has eight parts; they come one after the other.
best = 0
Load.run(150) do |n|
  paper, place = (n - 1).divmod(8)
  found = shingles(paper, place) # LEAK
  CLUSTERS.begin_with([paper, place], found) # LEAK
  best = [best, likeness(found, WORKS[n * 7_919 % WORKS.size])].max
  CLUSTERS.merge([paper, 0], [paper, place]) if place > 0
  CLUSTERS.take([paper, 0]) if place == 7
end
