# A market service has the ticks of each share in a red-black tree by their time, to look at the last minutes. It asks for the newest
# fifty and takes none out. The tree's nodes are in the C extension's own memory; the keys are numbers, which are no objects.
#
# kind: native
# tuned: yes
# also: leak
# line: rbtree
# keeper: @trees, RBTree
# gems: rbtree 0.4.7
require_relative "../load"
require "rbtree"

class Market
  def initialize = @trees = Hash.new { |trees, share| trees[share] = RBTree.new }

  def tick(share, time, price) = @trees[share][time] = price # LEAK KEEPER

  def average(share, time)
    last = @trees[share].bound(time - 50, time).map { |_time, price| price }
    last.sum / last.size
  end
end

MARKET = Market.new

Load.run(60) do |n|
  40.times { |i| MARKET.tick("share #{i % 8}", (n * 40) + i, n % 977) } # LEAK
  MARKET.average("share #{n % 8}", n * 40 + 40)
end
