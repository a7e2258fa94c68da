# A build server shows its state on a page. The state is an OpenStruct, and each build writes its summary into a field of its own, as
# "build_17". A field costs an entry, two methods and a symbol, and no field is ever deleted.
#
# kind: leak
# line: ostruct.rb
# keeper: ostruct, @table, STATE, OpenStruct
# rate: 250000
require_relative "../load"
require "ostruct"
require "json"

STATE = OpenStruct.new(queue: 0, running: 0, passed: 0)
STEPS = %w[checkout install compile lint test package].freeze

def summary(number)
  STEPS.map.with_index { |step, i| "#{step} of build #{number} took #{(number * (i + 3)) % 900} s on agent #{number % 24}: #{number % 17 == i ? "failed" : "passed"}" } # LEAK
end

def log(number) = Array.new(800) { |i| "#{number}/#{i} [#{STEPS[i % 6]}] cc -O2 -c module_#{(number + i) % 700}.c -o module_#{i}.o (#{i % 13} warnings)" }

Load.run(110) do |n|
  lines = log(n)
  warnings = lines.sum { |line| line[/\((\d+) warnings/, 1].to_i }
  STATE.passed += 1 if warnings.even?
  STATE["build_#{n}"] = summary(n) # LEAK KEEPER
  JSON.generate(lines.grep(/lint|test/).first(200))
end
