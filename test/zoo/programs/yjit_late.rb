# A site that highlights code turns YJIT on when it has run for a while: machine code is made, method after method, for as
# long as new languages are asked for, and then no more.
#
# kind: steady
# tuned: yes
# also: bloat
# gems: rouge 5.1.0
# settles: 24
require_relative "../load"
require "rouge"

LEXERS = [Rouge::Lexers::Ruby, Rouge::Lexers::JSON, Rouge::Lexers::YAML, Rouge::Lexers::Python, Rouge::Lexers::C, Rouge::Lexers::CSS,
          Rouge::Lexers::SQL, Rouge::Lexers::Java, Rouge::Lexers::Shell, Rouge::Lexers::Markdown].freeze
CODE = File.read(__FILE__)
FORMATTER = Rouge::Formatters::HTML.new

Load.run(25) do |n|
  RubyVM::YJIT.enable if n == 50 && defined?(RubyVM::YJIT)
  lexer = LEXERS[[(n / 50), LEXERS.size - 1].min.then { |most| n % (most + 1) }]
  FORMATTER.format(lexer.new.lex(CODE))
end
