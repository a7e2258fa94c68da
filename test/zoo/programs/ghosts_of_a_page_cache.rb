# Large: an encyclopaedia has the texts of 160,000 articles in memory, and a cache of 2,500 rendered pages. A page that
# is dropped leaves a ghost: when it is asked for again, the cache gives more room to such pages. The list of ghosts is
# only cut when a ghost is found, and the crawlers of search engines ask for each page just once. A ghost should be a
# key alone, but it still has the page.
#
# kind: leak
# keeper: @ghosts, CACHE, PageCache
# starts: 10
# rate: 1010000
require_relative "../load"

class PageCache
  Page = Struct.new(:path, :html, :used)

  def initialize(most)
    @most = most
    @recent_share = 0.5
    @recent = {}
    @frequent = {}
    @ghosts = {}
  end

  def fetch(path)
    if (page = @frequent.delete(path) || @recent.delete(path))
      page.used += 1
      return @frequent[path] = page
    end
    found_again if @ghosts.delete(path)
    @recent[path] = Page.new(path, yield, 1) # LEAK
    drop while @recent.size + @frequent.size > @most
    @recent[path]
  end

  private

  def found_again
    @recent_share = [@recent_share + 0.01, 0.9].min
    @ghosts.shift while @ghosts.size > @most
  end

  def drop
    pages = @recent.size > @most * @recent_share || @frequent.empty? ? @recent : @frequent
    path, page = pages.shift
    @ghosts[path] = page # LEAK KEEPER
  end
end

Article = Struct.new(:title, :paragraphs)

ARTICLES = Array.new(160_000) do |i|
  paragraphs = Array.new(4) { |k| "Part #{k} is about the river of county #{i * 7_919 % 3_000}: #{"the water is clear and cold at its source, " * 9}see [#{i * (k + 31) % 160_000}]." }
  Article.new("the #{i}th article", paragraphs)
end
CACHE = PageCache.new(2_500)

def html(path)
  article = ARTICLES[path[/\d+/].to_i]
  "<html><title>#{article.title}</title><body>#{article.paragraphs.map { |text| "<p>#{text.sub(/\[(\d+)\]/, "<a href='/wiki/\\1'>\\1</a>")}</p>" }.join("\n")}</body></html>" # LEAK
end

# Half of the requests come from crawlers, which read every article of every revision in turn.
Load.run(900) do |n|
  path = n.even? ? "/wiki/#{n * 31 % 1_000}" : "/wiki/#{n * 7_919 % ARTICLES.size}?revision=#{n}" # LEAK
  CACHE.fetch(path) { html(path) }.html.bytesize # LEAK
end
