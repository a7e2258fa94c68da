# Each job starts a Ractor that waits for an answer; one in five never gets it, and stays with its thread.
#
# kind: threads
# tuned: yes
# also: leak
require_relative "../load"
Warning[:experimental] = false

def start(number)
  Ractor.new(number) { |job| [job, Ractor.receive] } # LEAK
end

Load.run(50) do |n|
  ractor = start(n) # LEAK
  next if n % 5 == 0

  ractor.send("answer #{n}")
  ractor.take
end
