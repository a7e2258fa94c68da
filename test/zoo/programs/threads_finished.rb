# A pool keeps each thread that it ever made, to join them at the end. They are done, and each keeps its result.
#
# kind: leak
# tuned: yes
# also: threads
# keeper: @all
require_relative "../load"

class Pool
  def initialize = @all = []

  def later(number)
    @all << Thread.new { Array.new(100) { |i| "row #{number} #{i}" } } # LEAK KEEPER
  end
end

pool = Pool.new
Load.run(20) { |n| pool.later(n) }
