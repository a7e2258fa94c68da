# A service follows the errors of each request with a TracePoint, which it enables at the start and disables at the end. Each fourth
# request leaves early by a throw, and its TracePoint stays enabled for ever: the virtual machine keeps its block, and that the request.
#
# kind: leak
# tuned: yes
# keeper: TracePoint
require_relative "../load"

def request(number)
  lines = Array.new(30) { |i| "line #{i} of order #{number}" } # LEAK
  errors = [] # LEAK
  trace = TracePoint.new(:raise) { |point| errors << [lines.size, point.raised_exception.class] if errors.size < 3 } # LEAK
  trace.enable # KEEPER
  throw :not_modified if number % 4 == 0
  Integer(lines.first, exception: false)
  trace.disable
end

Load.run(100) { |n| catch(:not_modified) { request(n) } } # LEAK
