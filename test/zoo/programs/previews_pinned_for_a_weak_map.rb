# A server has 60,000 documents in memory and caches rendered previews in an ObjectSpace::WeakMap, so that the GC may
# drop them. It dropped them too early, so a list was added that pins the newest 500 previews. The list is cut with
# Array#last, which returns a new Array and leaves the list as it is.
#
# kind: leak
# keeper: @pinned, PREVIEWS, Previews
# starts: 3
# rate: 1170000
require_relative "../load"

class Document
  attr_reader :number, :title, :paragraphs

  def initialize(number)
    @number = number
    @title = "document #{number} of the archive, box #{number % 900}"
    @paragraphs = Array.new(3) { |i| "paragraph #{i} of document #{number}: #{"as it was written in the year #{1800 + (number % 200)}, " * 10}" }
  end

  # A version of the document with other words in it.
  def edited(words) = dup.tap { |copy| copy.instance_variable_set(:@paragraphs, paragraphs.map { |text| "#{words} #{text[0, 440]}" }) }
end

class Previews
  MOST = 500

  def initialize
    @previews = ObjectSpace::WeakMap.new
    @pinned = []
  end

  def of(document)
    @previews[document] || render(document).tap do |preview|
      @previews[document] = preview
      @pinned << preview # LEAK KEEPER
      @pinned.last(MOST) if @pinned.size > MOST
    end
  end

  private

  def render(document)
    rows = document.paragraphs.map { |text| text.scan(/.{1,80}/).map.with_index { |line, i| "<tspan x='10' dy='#{i}'>#{line.strip}</tspan>" }.join("\n") } # LEAK
    "<svg xmlns='http://www.w3.org/2000/svg' id='#{document.number}'><title>#{document.title}</title>#{rows.join}</svg>" # LEAK
  end
end

DOCUMENTS = Array.new(60_000) { |i| Document.new(i) }
PREVIEWS = Previews.new

Load.run(500) do |n|
  place = n * 7_919 % DOCUMENTS.size
  DOCUMENTS[place] = DOCUMENTS[place].edited("(version #{n})") if n.even?
  PREVIEWS.of(DOCUMENTS[place]).bytesize # LEAK
end
