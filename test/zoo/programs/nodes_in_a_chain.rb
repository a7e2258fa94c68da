# A linked list of changes, whose first node is kept by the program and whose last node by the store: 40 bytes for each change, in slots
# alone, without malloc. 20 KB a second, next to texts that are dropped.
#
# kind: leak
# keeper: FIRST, @next, @last
# rate: 20000
require_relative "../load"

class Node
  attr_writer :next

  def initialize(number) = (@number, @next = number, nil)
end

class Store
  def initialize(first) = @last = first

  def change(number)
    node = Node.new(number) # LEAK
    @last.next = node # KEEPER
    @last = node
  end
end

FIRST = Node.new(0)
STORE = Store.new(FIRST)
Load.run(500) do |n|
  STORE.change(n) # LEAK
  Array.new(15) { |i| "change #{n}, line #{i}, which has some text in it" }.join
end
