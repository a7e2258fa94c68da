# An extension in C leaks its table, plain malloc, when it raises: one text in five has a line that is no number.
#
# kind: native
# tuned: yes
# line: rates.c, rates.so
require_relative "../load"
require_relative "../extension"
Extension.load("rates")

GOOD = Array.new(300) { |i| (i * 1.7).to_s }.join("\n")
BAD = "#{GOOD}\nn/a"

def import(number)
  Rates.sum(number % 5 == 0 ? BAD : GOOD) # LEAK
rescue ArgumentError
  0
end

Load.run(1000) do |n|
  import(n)
  Array.new(20) { |i| "row #{i}" }
end
