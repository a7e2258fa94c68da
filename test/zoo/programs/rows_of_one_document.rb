# A printing service writes labels for parcels. It makes their elements with a document that it opened at the start, and never adds them to it:
# nokogiri lets a document keep each node that it has made, so the document has the nodes of all labels.
#
# kind: leak
# also: native
# line: nokogiri
# keeper: @node_cache, DRAFT, nokogiri
# gems: nokogiri 1.19.3
# rate: 2200000
require_relative "../load"
require "nokogiri"

DRAFT = Nokogiri::XML::Document.new

class Label
  def initialize(parcel)
    @root = element("label", nil, "number" => parcel[:number].to_s, "to" => parcel[:town]) # LEAK
    parcel[:lines].each_with_index { |line, i| @root << element("line", line, "y" => (i * 12).to_s) } # LEAK
  end

  def print = "#{@root.to_xml}\n#{@root.css("line").map { |line| "#{line["y"]} #{line.text.upcase}" }.join("\n")}"

  private

  def element(name, text, attributes) = DRAFT.create_element(name, text, attributes) # LEAK KEEPER
end

def parcel(number)
  { number: number, town: "town #{number % 900}", lines: Array.new(18) { |i| "line #{i} of parcel #{number}: #{%w[from to by via weight].at(i % 5)} place #{number * i % 7_001}" } }
end

Load.run(190) { |n| Label.new(parcel(n)).print } # LEAK
