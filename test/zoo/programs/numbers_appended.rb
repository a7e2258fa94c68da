# Durations of all requests are appended to one Array, for a percentile that is computed from the last thousand. They are
# small Integers, so that no object is allocated: the Array's buffer alone grows, 12 KB a second, and in steps.
#
# kind: leak
# also: native
# rate: 12000
require_relative "../load"

class Durations
  def initialize = @all = []

  def add(microseconds)
    @all << microseconds # LEAK KEEPER
    @all.last(1_000).max if @all.size % 5_000 == 0
  end
end

DURATIONS = Durations.new
Load.run(300) do |n|
  5.times { |i| DURATIONS.add((n * 7919 % 50_000) + i) } # LEAK
  Array.new(20) { |i| "line #{i} of #{n}" }.join
end
