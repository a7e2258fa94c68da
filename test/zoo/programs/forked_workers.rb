# A server forks four workers, as Puma does. Each keeps the carts of visitors who never come back; the master sleeps.
#
# kind: leak
# tuned: yes
# keeper: CARTS
require_relative "../load"
require_relative "../workers"

CARTS = {}
ARTICLES = Array.new(5_000) { |i| { id: i, name: "article #{i}" } }

def cart(visitor)
  CARTS[visitor] = ARTICLES.sample(60).map { |article| "#{article[:name]} for #{visitor}" } # LEAK KEEPER
end

Workers.run(4) { Load.run(120) { |n| cart("visitor #{n}") } }
