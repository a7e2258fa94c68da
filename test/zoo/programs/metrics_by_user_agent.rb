# A counter of requests by route, status and user agent: the label has the agent's whole text, with a build number that
# differs for one request in six.
#
# kind: leak
# rate: 27000
require_relative "../load"

class Counter
  def initialize = @counts = Hash.new(0)
  def increment(**labels) = @counts[labels] += 1 # LEAK KEEPER
  def total = @counts.each_value.first(50).sum
end

REQUESTS = Counter.new
Load.run(400) do |n|
  build = n % 6 == 0 ? n : n % 30
  agent = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/#{build}" # LEAK
  REQUESTS.increment(route: "/shop/:id", status: 200 + (n % 4), agent: agent) # LEAK
  Array.new(15) { |i| "<td>#{i}</td>" }.join
end
