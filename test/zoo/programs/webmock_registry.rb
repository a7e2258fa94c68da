# WebMock is loaded in production by mistake (a gem required it). It keeps the signature of each request, body and all,
# until somebody resets it.
#
# kind: leak
# tuned: yes
# line: webmock/, addressable/, net/http
# keeper: webmock/util/hash_counter.rb, webmock/request_registry.rb, webmock/stub_registry.rb, @hash, @max
# gems: webmock 3.34.0
require_relative "../load"
require "net/http"
require "webmock"
WebMock.enable!
WebMock.stub_request(:any, /example/).to_return(status: 200, body: "ok")

def report(number)
  Net::HTTP.post(URI("http://metrics.example.com/report/#{number}"), "measure #{number}\n" * 40).body # LEAK KEEPER
end

Load.run(60) { |n| report(n) } # LEAK
