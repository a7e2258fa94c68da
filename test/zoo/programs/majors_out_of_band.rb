# Healthy: a server forbids major GCs while it serves (GC.config of Ruby 3.4) and starts one between requests when Ruby needs it. What
# lived for some seconds is old garbage until then.
#
# kind: steady
# tuned: yes
# also: bloat, fragmentation
require_relative "../load"

GC.config(rgengc_allow_full_mark: false)
RECENT = []

def request(number)
  RECENT << Array.new(40) { |i| "row #{i} of order #{number}" }
  RECENT.shift if RECENT.size > 400
  Array.new(200) { |i| "<li>#{number} #{i}</li>" }.join
end

def between_requests = GC.latest_gc_info(:need_major_by) && GC.start

Load.run(200) do |n|
  request(n)
  between_requests if n % 100 == 0
end
