# frozen_string_literal: true

# Programs that read it: Prometheus, promtool and go tool pprof.

require "open3"
require_relative "serving"

def here?(program) = ENV["PATH"].split(":").any? { |folder| File.executable?("#{folder}/#{program}") }

# CI has all of them; elsewhere one may be missing.
def with(program, name)
  if here?(program) then yield
  elsif ENV["CI"] then test(name) { flunk("no #{program}") }
  else Tap.skip(name, "no #{program}")
  end
end

def pprof(folder, *arguments) = Open3.capture2e({"PPROF_TMPDIR" => folder, "HOME" => folder}, "go", "tool", "pprof", *arguments)

CHURNS = <<~RUBY
  def keeps = $kept << Array.new(100) { Object.new }
  $kept = []
  2.times { fork { sleep } }
  ready
  loop { keeps; sleep 0.01 }
RUBY

# A Prometheus that scrapes the port each second, below the folder; its own port is yielded.
def prometheus(folder, port)
  own = free_port
  File.write("#{folder}/prometheus.yml", <<~YAML)
    global: { scrape_interval: 1s, scrape_timeout: 1s }
    scrape_configs:
      - job_name: ruby
        static_configs: [{ targets: ["127.0.0.1:#{port}"] }]
  YAML
  arguments = ["--config.file=#{folder}/prometheus.yml", "--storage.tsdb.path=#{folder}/data", "--web.listen-address=127.0.0.1:#{own}"]
  pid = spawn("prometheus", *arguments, %i[out err] => "#{OUT}/prometheus.log")
  yield own
ensure
  if pid
    Process.kill(:TERM, pid)
    Process.wait(pid)
  end
end

# The values that it has for a query, by the label `pid`; nil: none yet.
def query(port, text)
  require "json"
  answer = get(port, "/api/v1/query?query=#{text.gsub(/[^\w]/) { |char| format("%%%02X", char.ord) }}", Connection: "close")
  body = answer.headers["transfer-encoding"] ? answer.body.gsub(/^\h+\r\n/, "").delete("\r") : answer.body
  result = JSON.parse(body)["data"]["result"].to_h { |one| [one["metric"]["pid"].to_i, one["value"].last.to_f] }
  result unless result.empty?
rescue SystemCallError, JSON::ParserError
  nil
end

serving(CHURNS) do |it|
  Dir.mktmpdir do |folder|
    with("promtool", "promtool has no complaint") do
      test "promtool has no complaint" do
        said, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: it.get("/metrics").body)
        assert(status.success? && said.empty?, said)
      end
    end
    with("prometheus", "Prometheus scrapes it") do
      prometheus(folder, it.to) do |own|
        test "Prometheus scrapes it: the parent and two children, with the memory that they have" do
          rss = waits_for(90) { query(own, "process_resident_memory_bytes").then { |got| got if got && got.size == 3 } }
          assert(rss.fetch(it.pid).between?(it.rss / 2, it.rss * 2), rss.inspect)
          equal [1.0], waits_for(60) { query(own, 'up{job="ruby"}') }.values
          equal rss.keys.sort, query(own, 'sum by (pid) (ruby_memory_bytes)').keys.sort
        end
        test "and as OpenMetrics: it knows the unit" do
          body = get(own, "/api/v1/targets/metadata?metric=ruby_memory_bytes", Connection: "close").body
          assert(body.include?('"unit":"bytes"'), body)
        end
      end
    end
    with("go", "go tool pprof reads a profile") do
      test "go tool pprof reads a profile" do
        said, status = pprof(folder, "-top", "-sample_index=inuse_objects", "http://127.0.0.1:#{it.to}/debug/pprof/heap?gc=1")
        assert(status.success? && said.match?(/ Object#keeps$| Class#new$/), said)
      end
      test "and allocs, which it shows first" do
        said, = pprof(folder, "-top", "http://127.0.0.1:#{it.to}/debug/pprof/allocs")
        assert(said.include?("Type: alloc_space"), said)
      end
      test "and a difference, which has a second of allocations alone" do
        said, = pprof(folder, "-top", "-sample_index=alloc_objects", "http://127.0.0.1:#{it.to}/debug/pprof/heap?seconds=1")
        duration, unit, total = said.match(/^Duration: ([\d.]+)(m?s), Total samples = ([\d.]+)/)&.captures
        seconds = duration.to_f / (unit == "ms" ? 1000 : 1)
        assert(seconds.between?(0.9, 20) && total.to_f.between?(1000, 40_000 * seconds), said)
      end
    end
  end
end

Tap.finish
