# A search server loads an index of 300,000 words within its first seconds, keeps it and grows no more.
#
# kind: steady
# tuned: yes
# also: bloat
require_relative "../load"

INDEX = {}
def add(number) = INDEX["word #{number}"] = [number, number * 7 % 1000]

Load.run(60) do |n|
  2_000.times { |i| add(n * 2_000 + i) } if n <= 150
  Array.new(100) { |i| "<li>#{n} #{i} #{INDEX["word #{n * i}"]}</li>" }.join
end
