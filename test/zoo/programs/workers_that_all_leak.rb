# Three forked workers of one server serve the same pages, and each leaves the visitor's device in a table without a bound.
# The master waits.
#
# kind: leak
# rate: 240000
# every: 10
require_relative "../load"
require_relative "../workers"

class Devices
  def initialize = @seen = {}
  def note(agent, number) = @seen["#{agent} #{number}"] = { agent: agent, languages: Array.new(6) { |i| "language #{i} of #{number}" } } # LEAK KEEPER
end

DEVICES = Devices.new
Workers.run(3) do |index|
  Load.run(90) do |n|
    DEVICES.note("agent #{index}", n) # LEAK
    Array.new(60) { |i| "<li>#{n} #{i}</li>" }.join
  end
end
