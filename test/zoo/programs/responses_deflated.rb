# Rack::Deflater compresses each page of an application: a zlib stream with 256 KiB of its own for each, in three threads. It is
# closed with its page.
#
# kind: steady
# tuned: yes
# gems: rack 3.1.12
require_relative "../load"
require "rack"
require "rack/mock_request"
require "rack/deflater"

PAGES = lambda do |env|
  body = Array.new(40) { |i| "<li class='row'>line #{i} of #{env["PATH_INFO"]}</li>" }
  [200, { "content-type" => "text/html" }, body]
end

APP = Rack::Deflater.new(PAGES)

def request(path)
  env = Rack::MockRequest.env_for(path, "HTTP_ACCEPT_ENCODING" => "gzip")
  _status, _headers, body = APP.call(env)
  sent = 0
  body.each { |part| sent += part.bytesize }
  body.close
  sent
end

Array.new(3) { |k| Thread.new { Load.run(20) { |n| request("/shop/#{k}/#{n}") } } }.each(&:join)
