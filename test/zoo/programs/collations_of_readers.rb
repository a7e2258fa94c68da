# A library sorts its catalogue in the order of each reader's languages. The order is a collation of SQLite, which is registered under the
# number of the search; the connection keeps all of them, since it never registers one again under the same name.
#
# kind: leak
# also: native
# line: sqlite3
# keeper: @collations, CATALOGUE
# gems: sqlite3 2.10.2
# rate: 590000
require_relative "../load"
require "sqlite3"

# Compares titles by the ranks of their words.
class Order
  def initialize(languages)
    @ranks = languages.each_with_index.to_h { |language, rank| [language, rank] } # LEAK
    @articles = languages.flat_map { |language| Array.new(12) { |i| "#{language}: article number #{i}, which is left out when titles are compared" } } # LEAK
  end

  def compare(one, other) = key(one) <=> key(other)

  private

  def key(title)
    language, *words = title.split
    words.shift if @articles[@ranks.fetch(language, 0) * 12].start_with?(language)
    [@ranks.fetch(language, 99), words.join(" ").downcase]
  end
end

CATALOGUE = SQLite3::Database.new(":memory:")
CATALOGUE.execute("create table books (number integer primary key, shelf integer, title text)")
CATALOGUE.transaction do
  9_000.times { |i| CATALOGUE.execute("insert into books values (?, ?, ?)", [i, i % 300, "lang#{i % 25} #{%w[the der le a].at(i % 4)} book of #{i * 7919 % 9_000} things"]) }
end

def search(number)
  languages = Array.new(14) { |i| "lang#{(number + (i * 3)) % 25}" } # LEAK
  CATALOGUE.collation("reader_#{number}", Order.new(languages)) # LEAK KEEPER
  CATALOGUE.execute("select number, title from books where shelf between ? and ? order by title collate reader_#{number}", [number % 290, (number % 290) + 9])
           .map { |book, title| "<li id=\"#{book}\">#{title}</li>" }.join
end

Load.run(20) { |n| search(n) } # LEAK
