# Breadcrumbs for error reports are in Fiber storage. The list was made at boot, so that each thread inherits the same one, and nobody
# clears it after a request.
#
# kind: leak
# tuned: yes
# keeper: breadcrumbs
require_relative "../load"

module Breadcrumbs
  def self.start = Fiber[:breadcrumbs] = []
  def self.add(message, **data) = Fiber[:breadcrumbs] << { message: message, data: data, at: Load.seconds } # LEAK KEEPER
end

def request(number)
  Breadcrumbs.add("request", path: "/orders/#{number}") # LEAK
  Array.new(30) { |i| "line #{i} of #{number}" }.join
  Breadcrumbs.add("rendered", bytes: number % 900, text: "order #{number}") # LEAK
end

Breadcrumbs.start
Array.new(3) { Thread.new { Load.run(80) { |n| request(n) } } }.each(&:join)
