# HexaPDF writes documents of some thirty pages of text with headings and a table, and reads each again.
# Usage: ruby hexapdf.rb DOCUMENTS
require "hexapdf"
require "stringio"

WORDS = %w[the heap of a process grows and shrinks while every page that was ever touched stays with it until
           somebody gives it back which an allocator does late or never so that memory looks lost].freeze

def paragraph(number) = Array.new(120) { |i| WORDS[(i * 7 + number * 13) % WORDS.size] }.join(" ").capitalize + "."

Integer(ARGV[0]).times do |document|
  composer = HexaPDF::Composer.new(page_size: :A5, margin: 48)
  composer.style(:base, font: "Times", font_size: 10, line_spacing: 1.3)
  60.times do |i|
    composer.text("Chapter #{i}", font: ["Helvetica", variant: :bold], font_size: 14, margin: [12, 0, 6]) if (i % 6).zero?
    composer.text(paragraph(document * 60 + i), text_align: :justify, margin: [0, 0, 6])
  end
  composer.table(Array.new(30) { |row| Array.new(4) { |column| "cell #{row}.#{column}" } })
  out = StringIO.new("".b)
  composer.write(out)

  read = HexaPDF::Document.new(io: StringIO.new(out.string))
  raise "#{read.pages.count} pages" unless read.pages.count.between?(15, 40)
  shown = read.pages.sum { |page| page.contents.bytesize }
  raise "#{shown} bytes of contents" unless shown > 50_000
end
