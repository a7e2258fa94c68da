# A service searches log lines. Its query language has a parser that remembers what each rule found at each place of
# the text, so that no part is parsed twice. The memory is good for one query, but there is one parser for the whole
# service, and the text of the query is a part of the key. Almost every query has a text of its own.
#
# kind: leak
# keeper: @found, PARSER, QueryParser
# rate: 2000000
require_relative "../load"
require "strscan"

class QueryParser
  Node = Struct.new(:rule, :from, :last, :parts)

  def initialize = @found = {}

  def parse(text)
    node = remember(:either, text, 0)
    raise ArgumentError, "cannot read #{text[(node&.last || 0)..]}" unless node && node.last == text.size

    node
  end

  private

  def remember(rule, text, place)
    key = [text, rule, place] # LEAK
    return @found[key] if @found.key?(key)

    @found[key] = send(rule, text, place) # LEAK KEEPER
  end

  def either(text, place) = chain(:either, :all, " or ", text, place) # LEAK
  def all(text, place) = chain(:all, :part, " and ", text, place) # LEAK

  # One or more parts with a word between them.
  def chain(rule, part, word, text, place)
    parts = [remember(part, text, place)] # LEAK
    return unless parts.first

    while text[parts.last.last, word.size] == word && (following = remember(part, text, parts.last.last + word.size))
      parts << following # LEAK
    end
    Node.new(rule, place, parts.last.last, parts) # LEAK
  end

  def part(text, place) = group(text, place) || remember(:comparison, text, place)

  def group(text, place)
    return unless text[place] == "("

    inner = remember(:either, text, place + 1)
    Node.new(:group, place, inner.last + 1, [inner]) if inner && text[inner.last] == ")" # LEAK
  end

  def comparison(text, place)
    scanner = StringScanner.new(text)
    scanner.pos = place
    return unless scanner.scan(/(\w+)(<|>|=|!=|~)(\d+|"[^"]*")/)

    Node.new(:comparison, place, scanner.pos, scanner.captures) # LEAK
  end
end

PARSER = QueryParser.new
FIELDS = %w[status route duration host tenant worker region].freeze

# As people and dashboards write them: the times and numbers differ.
def query(number)
  groups = Array.new(4) do |i|
    comparisons = Array.new(3) { |k| "#{FIELDS[(number + i + (k * 3)) % 7]}#{%w[< > = !=][(i + k) % 4]}#{number * (i + k + 31) % 90_000}" }
    "(#{comparisons.join(" and ")} or host~\"web-#{number * i % 977}.*\")"
  end
  "time>#{1_700_000_000 + number} and #{groups.join(" and ")}" # LEAK
end

def lines_found(node) = node.is_a?(QueryParser::Node) ? node.parts.sum { |part| lines_found(part) } : 1

Load.run(170) { |n| lines_found(PARSER.parse(query(n))) } # LEAK
