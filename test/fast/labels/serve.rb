# frozen_string_literal: true

# Drives the shop that PORT serves, and reads its profile from HeapSample::Web.
# Usage: ruby serve.rb single | cluster
require "heapsample"
require "net/http"
require "stringio"
require_relative "counts"

PORT = Integer(ENV.fetch("PORT"))

def get(path)
  Net::HTTP.start("127.0.0.1", PORT, read_timeout: 120) { |http| http.get(path, {"Connection" => "close"}) }
end

def post(path, headers) = Net::HTTP.post(URI("http://127.0.0.1:#{PORT}#{path}"), "x", headers)

def profile
  answer = get("/heap/heap.pb.gz")
  abort "#{answer.code}: #{answer.body}" unless answer.code == "200"
  HeapSample::Profile.load(StringIO.new(answer.body), name: "the answer")
end

def single
  3.times { get("/orders") }
  2.times { get("/admin/users") }
  get("/broken")
  get("/report")
  4.times { check("labels outside of controllers", "outside {}", get("/outside").body) }
  check("the base", ["303", "/heap/growth"], post("/heap/growth", "Origin" => "http://127.0.0.1:#{PORT}").then { |answer| [answer.code, answer["location"]] })
  check("the base for another site", "403", post("/heap/growth", "Origin" => "http://evil.test").code)
  now = profile
  check("orders", {{"controller" => "orders", "action" => "index"} => 75, {"controller" => "orders", "action" => "broken"} => 3,
                   {"controller" => "orders", "action" => "report"} => 10}, counts(now, "Order", "controller", "action", "job", "queue"))
  check("a namespace", {{"controller" => "admin/users", "action" => "show"} => 14}, counts(now, "User", "controller", "action"))
  check("a job in a request", {{"controller" => "orders", "job" => "ReportJob", "queue" => "slow"} => 11},
        counts(now, "Report", "controller", "job", "queue"))
  check("outside", {{} => 8}, counts(now, "Middle", "controller", "action", "job"))
  check("the deploy, of all", {{"deploy" => "abc123"} => 88}, counts(now, "Order", "deploy"))
  top = now.filter(class: "Order").top(by: "label:action", value: :alloc_objects)
  check("by label", %w[index report broken], top.entries.map(&:key))
end

def web
  check("growth", true, get("/heap/growth").body.include?("Grown, by line"))
  check("the page", ["200", "text/html; charset=utf-8", true],
        get("/heap/page").then { |answer| [answer.code, answer["content-type"], answer.body.include?("<script")] })
  check("the index leads below the mount", true, get("/heap").body.include?('href="/heap/page"'))
  check("the report", true, get("/heap/report").body.include?("In use"))
  check("no such page", "404", get("/heap/etc/passwd").code)
  check("POST", "405", post("/heap/page", {}).code)
end

def cluster
  found = {}
  50.times do
    break if found.size == 2

    10.times { get("/orders") }
    now = profile
    workers = counts(now, "Order", "worker", "controller")
    check("one worker each", 1, workers.size) unless workers.empty?
    workers.each_key { |labels| found[labels["worker"]] = labels["controller"] }
  end
  check("both workers", {"0" => "orders", "1" => "orders"}, found.sort.to_h)
end

case ARGV.fetch(0)
when "single"
  single
  web
else cluster
end
