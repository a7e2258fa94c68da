# frozen_string_literal: true

# Does Rack::Lint find nothing in what HeapSample::Web answers?  Usage: ruby lint.rb, with Rack below GEM_HOME
require "rack"
require "rack/lint"
require "rack/mock"
require "heapsample/web"
require_relative "counts"

KEPT = Array.new(1000) { |i| "x#{i}" }
APP = Rack::MockRequest.new(Rack::Lint.new(HeapSample::Web))

def status(method, path, **more) = APP.request(method, "http://app.test#{path}", more).then { |answer| [answer.status, answer.body.empty?] }

puts "# Rack #{Rack.release}"
%w[/ /page /report /growth /heap.pb.gz].each do |path|
  check("GET #{path}", [200, false], status("GET", path))
  check("HEAD #{path}", [200, true], status("HEAD", path))
end
check("GET of no page", [404, false], status("GET", "/nothing"))
check("HEAD of no page", [404, true], status("HEAD", "/nothing"))
check("POST of the base", [303, false], status("POST", "/growth"))
check("growth since then", [200, false], status("GET", "/growth"))
check("POST of a page", [405, false], status("POST", "/page"))
check("a page of another site", [403, false], status("GET", "/page", "HTTP_SEC_FETCH_SITE" => "cross-site"))
