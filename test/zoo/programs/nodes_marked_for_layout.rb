# Large: an editor on a server has 60 documents as trees, in memory. An edit makes a new node for the paragraph and marks it for layout, in a Set
# that compares by identity. A page that is shown is laid out, and unmarks its nodes; nodes that were replaced before are on no page.
#
# kind: leak
# keeper: @marked, DOCUMENTS
# starts: 8
# rate: 870000
require_relative "../load"
require "set"

class Paragraph
  attr_reader :text

  def initialize(text)
    @text = text
    @widths = Array.new(22) { |i| 40 + ((text.size * i) % 90) } # LEAK
    @height = 12
    @top = nil
  end

  def edit(number)
    Paragraph.new(text.sub(/\d+ euros/, "#{number} euros")) # LEAK
  end

  def lay_out(top)
    @top = top
    @height = 12 * (1 + (@widths.sum / 500))
  end
end

class Document
  def initialize(number)
    @pages = Array.new(320) do |page|
      Array.new(30) { |i| Paragraph.new("In document #{number}, page #{page}, #{i}: the party pays #{i * page} euros, #{"as agreed before; " * 11}") }
    end
    @marked = Set.new.compare_by_identity
  end

  def edit(page, place, number)
    node = @pages[page][place] = @pages[page][place].edit(number) # LEAK
    @marked << node # LEAK KEEPER
  end

  def show(page)
    top = 0
    @pages[page].map do |node|
      top += node.lay_out(top) if @marked.delete?(node) || top.zero?
      "<p style=\"top: #{top}px\">#{node.text.gsub("euros", "&euro;")}</p>"
    end.join("\n")
  end
end

DOCUMENTS = Array.new(60) { |i| Document.new(i) }

Load.run(1_300) do |n|
  document = DOCUMENTS[n % 60]
  document.edit(n * 31 % 40, n * 7 % 30, n) # LEAK
  3.times { |i| document.show(((n * 17) + i) % 320) } if n % 2 == 0
end
