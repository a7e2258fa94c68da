# A Ractor counts words of messages for a search. It keeps the numbers of the messages of each word in a Hash of arrays, in a
# Ractor-local value, and nothing removes old messages.
#
# kind: leak
# keeper: index, Ractor
# rate: 1300000
require_relative "../load"
Warning[:experimental] = false

INDEX = Ractor.new do
  Ractor.current[:index] = {}
  loop do
    number, text = Ractor.receive
    text.split.each do |word|
      (Ractor.current[:index][word] ||= []) << [number, text.index(word), word.size] # LEAK KEEPER
    end
  end
end

Load.run(1000) do |n|
  text = Array.new(25) { |i| "word#{(n * (i + 3)) % 4_000}" }.join(" ")
  INDEX.send([n, text])
  text.upcase.scan(/W\w+/).size
end
