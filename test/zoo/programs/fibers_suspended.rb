# A cursor is an Enumerator that is read by #next, so that it runs in a fiber. Cursors that are not read to their end stay
# in the table of open cursors, with the fiber and its stack.
#
# kind: threads
# tuned: yes
# also: leak
# keeper: @open
require_relative "../load"

class Cursors
  def initialize = @open = {}

  def start(number)
    rows = Enumerator.new { |y| 100.times { |i| y << "row #{i} of #{number}" } } # LEAK
    @open[number] = rows # KEEPER
    rows.next # LEAK
  end

  def finish(number) = @open.delete(number)
end

CURSORS = Cursors.new
Load.run(100) do |n|
  CURSORS.start(n) # LEAK
  CURSORS.finish(n) unless n % 4 == 0
end
