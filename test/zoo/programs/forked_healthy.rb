# A server forks four workers that render pages and keep nothing.
#
# kind: steady
# tuned: yes
require_relative "../load"
require_relative "../workers"

ARTICLES = Array.new(20_000) { |i| { id: i, name: "article #{i}" } }
def page(number) = ARTICLES.sample(200).map { |article| "<li>#{article[:name]} #{number}</li>" }.join

Workers.run(4) { Load.run(80) { |n| page(n) } }
