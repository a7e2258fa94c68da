# A feed reader parses documents with nokogiri: much of libxml2's memory, all of it given back by the collector.
#
# kind: steady
# tuned: yes
# gems: nokogiri 1.19.3
require_relative "../load"
require "nokogiri"

def feed(number)
  items = Array.new(120) { |i| "<item id='#{i}'><title>News #{i} of #{number}</title><link>http://example.com/#{number}/#{i}</link></item>" }
  "<feed>#{items.join}</feed>"
end

def titles(text) = Nokogiri::XML(text).xpath("//item/title").map(&:text)

Load.run(25) { |n| titles(feed(n)).size }
