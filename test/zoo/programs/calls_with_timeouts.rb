# Each call to a service is under Timeout, with ten seconds, and answers in time. Timeout keeps a call's deadline only until it is done.
#
# kind: steady
# tuned: yes
require_relative "../load"
require "timeout"

def call(number)
  Timeout.timeout(10) { Array.new(25) { |i| { line: i, text: "line #{i} of answer #{number}" } } }
end

Array.new(4) do |k|
  Thread.new do
    Load.run(50) { |n| call(n * 4 + k).map { |line| line[:text] }.join("\n") }
  end
end.each(&:join)
