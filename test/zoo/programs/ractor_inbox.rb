# The main Ractor sends each measurement to a Ractor that handles them slower than they come: its inbox grows.
# kind: leak
# tuned: yes
# keeper: data of Ractor
require_relative "../load"
Warning[:experimental] = false

STORE = Ractor.new do
  loop do
    batch = Ractor.receive
    sleep 0.05
    batch.size
  end
end

def measure(number) = Array.new(25) { |i| "sensor #{i} says #{number * i}" } # LEAK

Load.run(150) { |n| STORE.send(measure(n)) } # LEAK KEEPER
