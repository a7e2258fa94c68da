# Healthy: an LRU cache of 4,000 articles, made from a Hash. The articles come by Zipf's law from 200,000, so most requests
# for a rare one add an entry. It fills ever more slowly, is full, and from then on drops an entry for each new one.
#
# kind: steady
# also: bloat
# settles: 18
require_relative "../load"
require_relative "../zipf"

class Articles
  LIMIT = 4_000

  def initialize = @articles = {}

  def fetch(id)
    article = @articles.delete(id) || { id: id, lines: Array.new(14) { |i| "line #{i} of article #{id}" } }
    @articles[id] = article
    @articles.shift if @articles.size > LIMIT
    article
  end
end

ARTICLES = Articles.new
IDS = Zipf.new(200_000, 5)
Load.run(420) { |_| ARTICLES.fetch(IDS.next)[:lines].join("\n") }
