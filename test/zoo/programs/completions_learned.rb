# Large: a search box loads its phrases into a trie at the start. It learns each query that somebody types: the trie gets its letters, and no
# query is ever removed.
#
# kind: leak
# keeper: COMPLETIONS, Trie, @root, @children
# starts: 9
# rate: 620000
require_relative "../load"
require "json"

class Letter
  attr_reader :children
  attr_accessor :phrase

  def child(letter) = (@children ||= {})[letter] ||= Letter.new # LEAK KEEPER
end

class Trie
  def initialize = @root = Letter.new

  def add(text, phrase) = text.each_char.inject(@root) { |node, letter| node.child(-letter) }.phrase = phrase # LEAK

  def complete(start, limit)
    node = start.each_char.inject(@root) { |at, letter| at&.children&.fetch(letter, nil) }
    found = []
    waiting = [node].compact
    while found.size < limit && (at = waiting.shift)
      found << at.phrase if at.phrase
      waiting.concat(at.children.values) if at.children
    end
    found
  end
end

COMPLETIONS = Trie.new
140_000.times do |i|
  text = "#{%w[red green blue grey black][i % 5]} #{%w[chair table lamp shelf sofa bed][i % 6]} #{i * 7_919 % 1_000_003}"
  COMPLETIONS.add(text, { text: text, hits: i % 50, category: "furniture/#{i % 40}", snippet: "#{text} is sold in #{i % 30} shops. ".ljust(1_600, "It is made of wood. ") })
end

def typed(number)
  text = "#{%w[old new cheap big][number % 4]} #{%w[stool desk mirror][number % 3]} #{number * 104_729 % 9_999_991}"
  COMPLETIONS.add(text, { text: text, hits: 1, learned: true, snippet: "typed #{number} #{"." * 300}" }) # LEAK
end

Load.run(400) do |n|
  typed(n) # LEAK
  JSON.generate(COMPLETIONS.complete("#{%w[red green blue grey black][n % 5]} #{%w[chair table lamp shelf sofa bed][n % 6]} #{n % 10}", 30))
end
