# Large: a shop has its 270,000 articles in memory. Each article has a Hash of the articles that were bought together
# with it, for a page that shows the most frequent five. An order adds all its pairs, and a pair that occurred only
# once is never dropped.
#
# kind: leak
# keeper: @together, ARTICLES, Article
# starts: 7
# rate: 1150000
require_relative "../load"

class Article
  Pair = Struct.new(:orders, :last, :price)
  attr_reader :number, :text

  def initialize(number)
    @number = number
    @text = "article #{number} of the catalogue, #{"made of wood and painted by hand " * 12}, #{number % 900} g"
    @sizes = Array.new(2) { |i| "size #{i} of article #{number}, in stock: #{number * i % 70}, in the store #{number % 40}".ljust(250) }
    @together = { (number + 1) => Pair.new(1, "order 0 of the old shop", 100) }
  end

  def bought_with(other, order, price)
    pair = @together[other.number] ||= Pair.new(0, nil, price) # LEAK KEEPER
    pair.orders += 1
    pair.last = "order #{order}, sent to the customer #{order * 31 % 90_000}" # LEAK
  end

  def best(count) = @together.max_by(count) { |_, pair| pair.orders }.map { |number, pair| "#{number} (#{pair.orders} times, #{pair.last})" }
end

ARTICLES = Array.new(270_000) { |i| Article.new(i) }
RANDOM = Random.new(13)

# A third of what is ordered is from the same 30,000 articles.
def drawn = ARTICLES[RANDOM.rand(3) == 0 ? RANDOM.rand(30_000) : RANDOM.rand(ARTICLES.size)]

Load.run(130) do |n|
  articles = Array.new(8) { drawn }
  articles.permutation(2) { |one, other| one.bought_with(other, n, n % 900) } # LEAK
  40.times { |i| "#{drawn.text.tr("a-m", "A-M")}: #{drawn.best(5).join(", ")} #{i}" }
end
