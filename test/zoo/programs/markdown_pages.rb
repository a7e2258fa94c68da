# A site renders Markdown by kramdown and highlights code by rouge: many small objects, a warm-up, no leak.
#
# kind: steady
# tuned: yes
# gems: kramdown 2.5.2, rouge 5.1.0
require_relative "../load"
require "kramdown"
require "rouge"

def article(number)
  "# Article #{number}\n\n" + Array.new(8) { |i| "* point *#{i}* of [#{number}](http://example.com/#{i})\n" }.join +
    "\nA paragraph with `code` and **words**.\n\n"
end

CODE = "def total(lines) = lines.sum { |line| line[:price] * line[:count] }\n" * 5
FORMATTER = Rouge::Formatters::HTML.new
LEXER = Rouge::Lexers::Ruby.new

Load.run(12) { |n| Kramdown::Document.new(article(n)).to_html + FORMATTER.format(LEXER.lex(CODE)) }
