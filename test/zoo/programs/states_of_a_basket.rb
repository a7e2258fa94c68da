# A till keeps its state in an immutable Data, and each step makes a new state of the last. For the sake of "undo" a state refers to the
# one before it: so from the newest one hangs a chain of all states since the till was switched on.
#
# kind: leak
# tuned: yes
# keeper: @state, previous
require_relative "../load"

State = Data.define(:items, :previous)

class Till
  def initialize = @state = State.new(items: [], previous: nil)

  def scan(number)
    items = @state.items.last(15) + ["article #{number} at #{number % 90} euros"] # LEAK
    @state = State.new(items: items, previous: @state) # LEAK KEEPER
  end

  def undo = @state = @state.previous || @state
end

TILL = Till.new

Load.run(150) do |n|
  TILL.scan(n)
  TILL.undo if n % 40 == 0
end
