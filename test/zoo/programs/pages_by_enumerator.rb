# Each visitor reads a list by an external enumerator, a page at a time. Nobody drops the enumerators of those who do not come
# back: each has a fiber with its stack.
#
# kind: leak
# tuned: yes
# also: threads, native
# keeper: VISITORS
require_relative "../load"

class Catalogue
  VISITORS = {}
  ITEMS = Array.new(500) { |i| "item #{i}" }

  def page(visitor)
    pages = VISITORS[visitor] ||= ITEMS.each_slice(20) # KEEPER
    pages.next # LEAK
  end
end

catalogue = Catalogue.new
Load.run(25) { |n| catalogue.page("visitor #{n}") }
