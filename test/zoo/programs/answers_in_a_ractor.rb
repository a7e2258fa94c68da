# A Ractor answers questions, and remembers each question with its answer under the whole text, with the time in it. The
# other Ractors and the main one do not grow.
#
# kind: leak
# keeper: Ractor, local variable
# rate: 85000
require_relative "../load"
Warning[:experimental] = false

ANSWERS = Ractor.new do
  known = {}
  loop do
    question = Ractor.receive
    known[question] ||= Array.new(15) { |i| "part #{i} of the answer to #{question}" } # LEAK KEEPER
    Ractor.yield(known[question].size)
  end
end

Load.run(60) do |n|
  ANSWERS.send("what is #{n} at #{Load.seconds.round(3)}")
  ANSWERS.take
  Array.new(30) { |i| "<li>#{i}</li>" }.join
end
