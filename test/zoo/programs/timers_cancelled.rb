# Each request sets a timer of an hour and cancels it; a cancelled timer stays in the list of timers until it is due.
#
# kind: leak
# tuned: yes
require_relative "../load"
class Timers
  Timer = Struct.new(:due, :block, :cancelled)
  def initialize = @all = []
  def after(seconds, &block) = Timer.new(Load.seconds + seconds, block, false).tap { |timer| @all << timer } # LEAK KEEPER
end
TIMERS = Timers.new
def request(n)
  body = Array.new(12) { |i| "part #{i} of #{n}" } # LEAK
  timer = TIMERS.after(3600) { raise "timeout of #{n}: #{body.size}" } # LEAK
  body.join
ensure
  timer&.cancelled = true
end
Load.run(120) { |n| request(n) } # LEAK
