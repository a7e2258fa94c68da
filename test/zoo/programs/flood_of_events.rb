# A fast leak, 3 MB a second: an analytics client collects events with their payloads, and its flush reads the wrong list.
#
# kind: leak
# rate: 2900000
require_relative "../load"

class Analytics
  def initialize = (@events, @sent = [], [])
  def track(name, payload) = @events << { name: name, at: Load.seconds, payload: payload } # LEAK KEEPER
  def flush = @sent.shift(100).size
end

CLIENT = Analytics.new
Load.run(500) do |n|
  CLIENT.track("view #{n}", Array.new(60) { |i| "property #{i} of the event #{n} by user #{n % 71}" }) # LEAK
  CLIENT.flush
end
