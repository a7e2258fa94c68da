# Large: an encyclopaedia loads its articles at the start. Rendered pages are in an LRU cache, a Hash and a linked list of its nodes. A page
# that is dropped leaves the Hash, but nothing takes its node from the list.
#
# kind: leak
# keeper: @newest, @older, @oldest, PAGES, PageCache
# starts: 5
# rate: 850000
require_relative "../load"

Article = Struct.new(:title, :text, :links, :edited)

class PageNode
  attr_reader :key, :page
  attr_accessor :older, :newer

  def initialize(key, page) = (@key, @page = key, page)
end

class PageCache
  def initialize(limit)
    @limit = limit
    @nodes = {}
    @newest = @oldest = nil
  end

  def fetch(key)
    if (node = @nodes.delete(key))
      unlink(node)
    else
      node = PageNode.new(key, yield) # LEAK
    end
    push(node)
    @nodes.shift while @nodes.size > @limit
    node.page
  end

  private

  def push(node)
    @nodes[node.key] = node
    node.older = @newest # KEEPER
    @newest.newer = node if @newest # KEEPER
    @newest = node # KEEPER
    @oldest ||= node
  end

  def unlink(node)
    node.newer ? node.newer.older = node.older : @newest = node.older
    node.older ? node.older.newer = node.newer : @oldest = node.newer
    node.older = node.newer = nil
  end
end

ARTICLES = Array.new(95_000) do |i|
  Article.new("Article #{i}", "Article #{i} is about #{i % 700}. It has been written by #{i % 90}. ".ljust(2_600, "Lorem ipsum dolor. "),
              Array.new(10) { |l| "Article #{(i * 7 + l * 13) % 95_000}" }, { by: "author #{i % 400}", at: "2024-01-#{1 + (i % 28)}", size: i })
end
PAGES = PageCache.new(1_500)

def page(number)
  article = ARTICLES[number]
  links = article.links.map { |link| "<a href='/#{link.tr(" ", "_")}'>#{link}</a>" }
  "<h1>#{article.title}</h1>#{article.text.split(". ").map { |sentence| "<p>#{sentence}</p>" }.join}#{links.join}" # LEAK
end

Load.run(700) do |n|
  number = n % 3 == 0 ? n * 7_919 % ARTICLES.size : n % 900
  text = PAGES.fetch(number) { page(number) } # LEAK
  text.gsub(/<[^>]+>/, " ").split.tally.max_by(5) { |_, count| count }
end
