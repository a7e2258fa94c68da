# A service that writes newsletters was started with Coverage, to see which code is dead, and with eval: true, to see it for its
# templates too. Each edition's template is evaluated under a path of its own, and Coverage keeps the counts of each path's lines.
#
# kind: leak
# keeper: Coverage, coverage
# rate: 330000
require_relative "../load"
require "coverage"
require "erb"

CUSTOMERS = Array.new(12_000) { |i| { name: "customer #{i}", city: "city #{i % 300}", bought: Array.new(4) { |k| (i * 7 + k) % 900 } } }
ARTICLES = Array.new(900) { |i| "article #{i}, #{%w[red green blue][i % 3]}, made in #{i % 40}" }

Coverage.setup(lines: true, eval: true)
Coverage.resume

class Edition
  def initialize(number)
    @number = number
    @path = "newsletters/edition-#{number}.erb"
  end

  def source
    offers = Array.new(30) { |i| "<% if customer[:bought].include?(#{(@number + i) % 900}) %>\n<p>again: <%= ARTICLES[#{(@number + i) % 900}] %></p>\n<% end %>\n" }
    ERB.new("<h1>Edition #{@number}</h1>\n#{"\n<!-- spacer of the layout -->\n" * 1_200}#{offers.join}").src
  end

  def compile = eval("lambda { |customer| #{source} }", TOPLEVEL_BINDING.dup, @path, 1) # LEAK
end

Load.run(16) do |n|
  mail = Edition.new(n).compile # LEAK
  CUSTOMERS[n * 20 % 11_700, 240].map { |customer| mail.call(customer).scan(/<p>.*<\/p>/) }.flatten.size
end
