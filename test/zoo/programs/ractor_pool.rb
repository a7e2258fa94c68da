# Three Ractors take work and give back results; none is left over.
#
# kind: steady
# tuned: yes
require_relative "../load"
Warning[:experimental] = false

POOL = Array.new(3) do
  Ractor.new do
    loop { Ractor.yield(Ractor.receive.map(&:upcase).join(",")) }
  end
end

Load.run(150) do |n|
  ractor = POOL[n % 3]
  ractor.send(Array.new(20) { |i| "row #{i} of #{n}" })
  ractor.take
end
