# frozen_string_literal: true

# A Rails application behind Puma; its profile is read from HeapSample::Web, which it mounts.

require_relative "programs"
require "net/http"
require "stringio"

class RailsTest < LabelsTest
  def served(workers:, interval:)
    @port = free_port
    env = {"PORT" => @port.to_s, "WORKERS" => workers.to_s, "INTERVAL" => interval.to_s}
    gem_running("puma", "-C", "#{__dir__}/app/puma.rb", "#{__dir__}/app/config.ru", env: env) do
      waits_for(120) { listens?(@port) }
      yield
    end
  end

  def get(path)
    Net::HTTP.start("127.0.0.1", @port, read_timeout: 120) { |http| http.get(path, {"Connection" => "close"}) }
  end

  def post(path, headers) = Net::HTTP.post(URI("http://127.0.0.1:#{@port}#{path}"), "x", headers)

  def profile
    answer = get("/heap/heap.pb.gz")
    assert_equal "200", answer.code, answer.body
    HeapSample::Profile.load(StringIO.new(answer.body), name: "the answer")
  end

  test "requests, a namespace, a thread and a job in a request, and an error have their labels" do
    served(workers: 0, interval: 1) do
      assert_equal ["303", "/heap/growth"], post("/heap/growth", "Origin" => "http://127.0.0.1:#{@port}").then { |answer| [answer.code, answer["location"]] }
      3.times { get("/orders") }
      2.times { get("/admin/users") }
      get("/broken")
      get("/report")
      4.times { assert_equal "outside {}", get("/outside").body }
      now = profile
      assert_equal({{"controller" => "orders", "action" => "index"} => 75, {"controller" => "orders", "action" => "broken"} => 3,
                    {"controller" => "orders", "action" => "report"} => 10}, counts(now, "Order", "controller", "action", "job", "queue"))
      assert_equal({{"controller" => "admin/users", "action" => "show"} => 14}, counts(now, "User", "controller", "action"))
      assert_equal({{"controller" => "orders", "job" => "ReportJob", "queue" => "slow"} => 11}, counts(now, "Report", "controller", "job", "queue"))
      assert_equal({{} => 8}, counts(now, "Middle", "controller", "action", "job"))
      assert_equal({{"deploy" => "abc123"} => 88}, counts(now, "Order", "deploy"))
      assert_equal %w[index report broken], now.filter(class: "Order").top(by: "label:action", value: :alloc_objects).entries.map(&:key)
      assert_web
    end
  end

  # What Rack::Lint does not check: pages below a mount, of a process that has grown.
  def assert_web
    assert_equal "403", post("/heap/growth", "Origin" => "http://evil.test").code
    assert_includes get("/heap/growth").body, "Grown, by line"
    page = get("/heap/page")
    assert_equal ["200", "text/html; charset=utf-8", true], [page.code, page["content-type"], page.body.include?("<script")]
    assert_includes get("/heap").body, 'href="/heap/page"'
    assert_includes get("/heap/report").body, "Live memory"
  end

  test "in a Puma cluster the threads of each worker have its number" do
    served(workers: 2, interval: 256) do
      found = {}
      waits_for(120) do
        10.times { get("/orders") }
        workers = counts(profile, "Order", "worker", "controller")
        assert_operator workers.size, :<=, 1
        workers.each_key { |labels| found[labels["worker"]] = labels["controller"] }
        found.size == 2
      end
      assert_equal({"0" => "orders", "1" => "orders"}, found)
    end
  end
end
