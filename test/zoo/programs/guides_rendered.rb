# A documentation server renders one of thirty guides per request with kramdown and keeps nothing.
#
# kind: steady
# tuned: yes
# gems: kramdown 2.5.2
require_relative "../load"
require "kramdown"

GUIDES = Array.new(30) { |i| "# Guide #{i}\n\n" + Array.new(15) { |k| "Paragraph *#{k}* of `guide #{i}` with [a link](http://example.com/#{k}).\n\n" }.join }
Load.run(12) { |n| Kramdown::Document.new(GUIDES[n % 30]).to_html }
