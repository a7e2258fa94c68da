# A server replaces each worker after some ten seconds, as puma_worker_killer does. Workers warm up and are steady, however
# often a young one replaces an old one.
#
# kind: steady
# tuned: yes
require_relative "../load"
require_relative "../workers"

MEMO = {}
def page(number)
  MEMO[number % 500] ||= Array.new(40) { |i| "part #{i} of #{number % 500}" }
  Array.new(300) { |i| "<li>#{MEMO[number % 500][i % 40]} #{number}</li>" }.join
end

Workers.replaced(2, every: 10) { |seconds| Load.run(80, seconds: seconds) { |n| page(n) } }
