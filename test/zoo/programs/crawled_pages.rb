# A crawler remembers the title of each page, and keeps the node of it: the node keeps its whole document, which is libxml's.
#
# kind: native
# tuned: yes
# also: leak
# line: nokogiri/
# gems: nokogiri 1.19.3
require_relative "../load"
require "nokogiri"

class Crawler
  def initialize = @titles = {}

  def visit(url)
    page = Nokogiri::HTML4("<html><head><title>#{url}</title></head><body>#{"<p class='x'>some text</p>" * 60}</body></html>") # LEAK
    @titles[url] = page.at("title") # LEAK KEEPER
    page.css("p").size # LEAK
  end
end

CRAWLER = Crawler.new
Load.run(25) { |n| CRAWLER.visit("https://example.com/page/#{n}") }
