# A counter of prometheus-client has the path of the request as a label, with the order's number in it: a new time series
# for each order, kept for ever in the store of the metric.
#
# kind: leak
# tuned: yes
# line: prometheus/client
# keeper: data_stores/synchronized.rb, @internal_store
# gems: prometheus-client 5.0.0
require_relative "../load"
require "prometheus/client"

REQUESTS = Prometheus::Client.registry.counter(:http_requests, docstring: "requests", labels: %i[method path status])
DURATION = Prometheus::Client.registry.histogram(:http_seconds, docstring: "seconds", labels: %i[method path])

def render(number) = Array.new(100) { |i| "<li>#{number} #{i}</li>" }.join

def request(path)
  body = render(path)
  REQUESTS.increment(labels: { method: "GET", path: path, status: "200" }) # LEAK KEEPER
  DURATION.observe(0.01, labels: { method: "GET", path: path }) # LEAK KEEPER
  body.size
end

Load.run(250) { |n| request("/orders/#{n}/lines") } # LEAK
