# frozen_string_literal: true

# HeapSample::Web below Rack::Lint: prints the status of each request, and whether the body is empty, as JSON.
# Usage: ruby lint.rb, with Rack below GEM_HOME
require "json"
require "rack"
require "rack/lint"
require "rack/mock"
require "heapsample/web"

KEPT = Array.new(1000) { |i| "x#{i}" }
APP = Rack::MockRequest.new(Rack::Lint.new(HeapSample::Web))

def status(method, path, **more) = APP.request(method, "http://app.test#{path}", more).then { |answer| [answer.status, answer.body.empty?] }

all = %w[/ /page /report /growth /heap.pb.gz /nothing].product(%w[GET HEAD]).to_h { |path, method| ["#{method} #{path}", status(method, path)] }
puts JSON.generate({
                     **all, "POST /growth" => status("POST", "/growth"), "GET /growth later" => status("GET", "/growth"), "POST /page" => status("POST", "/page"),
                     "GET /page of another site" => status("GET", "/page", "HTTP_SEC_FETCH_SITE" => "cross-site"),
                   })
