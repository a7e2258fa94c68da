# A service compares the prices of shops by their pages. It finds an article by a CSS selector that has the article's
# number in it. Nokogiri retains the XPath expression of each selector that it has translated, in a Hash without a
# bound.
#
# kind: leak
# line: nokogiri/css, nokogiri/xml/searchable
# keeper: nokogiri/css, @cache, SelectorCache, Nokogiri::CSS
# gems: nokogiri 1.19.3
# rate: 300000
require_relative "../load"
require "nokogiri"

PAGES = Array.new(40) do |page|
  rows = Array.new(30) { |i| %(<tr data-article="#{(page * 30) + i}"><td class="name">article #{i}</td><td class="price">#{i}.99</td></tr>) }
  Nokogiri::HTML4("<html><body><table id='articles'>#{rows.join}</table></body></html>")
end

def price(page, article)
  page.at_css("#articles tr[data-article='#{article}'] > td.price, #articles tr[data-offer='#{article}'] > td.price, div#offer-#{article} > span.price")&.text # LEAK
end

Load.run(260) do |n|
  article = (n * 7_919) % 900_000_007
  price(PAGES[n % 40], article) # LEAK
  PAGES[n % 40].at_xpath("//table").to_html.size if n % 9 == 0
end
