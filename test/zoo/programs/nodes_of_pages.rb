# A crawler keeps the title node of each page that it read. A node of Nokogiri keeps its whole document, which libxml2 has in its
# own memory.
#
# kind: native
# tuned: yes
# also: leak
# line: nokogiri/
# keeper: TITLES
# gems: nokogiri 1.18.8
require_relative "../load"
require "nokogiri"

TITLES = {}
PAGE = "<html><head><title>Page %d</title></head><body>#{"<div class='row'><p>some text <b>bold</b></p></div>" * 60}</body></html>"

Load.run(12) do |n|
  page = Nokogiri::HTML4(format(PAGE, n)) # LEAK
  TITLES[n] = page.at_css("title") # KEEPER LEAK
end
