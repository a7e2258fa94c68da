# frozen_string_literal: true

# Programs that read it: Prometheus, promtool and go tool pprof, each with the token.

require_relative "serving"

def here?(program) = ENV["PATH"].split(":").any? { |folder| File.executable?("#{folder}/#{program}") }

# CI has all of them; elsewhere one may be missing.
def with(program, name)
  if here?(program) then yield
  elsif ENV["CI"] then test(name) { flunk("no #{program}") }
  else Tap.skip(name, "no #{program}")
  end
end

def pprof(*arguments) = Open3.capture2e({"PPROF_TMPDIR" => FOLDER, "HOME" => FOLDER}, "go", "tool", "pprof", *arguments)

# A Prometheus that scrapes the agent each second; its port is yielded.
def prometheus(port)
  own = free_port
  File.write("#{FOLDER}/prometheus.yml", <<~YAML)
    global: { scrape_interval: 1s, scrape_timeout: 1s }
    scrape_configs:
      - job_name: ruby
        authorization: { credentials_file: #{TOKEN_FILE} }
        static_configs: [{ targets: ["127.0.0.1:#{port}"] }]
  YAML
  pid = spawn("prometheus", "--config.file=#{FOLDER}/prometheus.yml", "--storage.tsdb.path=#{FOLDER}/data", "--web.listen-address=127.0.0.1:#{own}", %i[out err] => "#{OUT}/prometheus.log")
  yield own
ensure
  if pid
    Process.kill(:TERM, pid)
    Process.wait(pid)
  end
end

# [labels, value] of each series of a query.
def query(port, text)
  body = get(port, "/api/v1/query?query=#{text.gsub(/\W/) { |char| format("%%%02X", char.ord) }}", "Accept-Encoding": "identity").body
  JSON.parse(body[/\{.*\}/m])["data"]["result"].map { |one| [one["metric"], one["value"].last.to_f] }
rescue SystemCallError, JSON::ParserError, TypeError
  []
end

CHURNS = "def keeps = $kept << Array.new(100) { Object.new }; $kept = []; $0 = 'puma: cluster worker 1: 9 [shop]'; ready; loop { keeps; sleep 0.01 }"

sampled(CHURNS, "interval=4k,output=none,deploy=v9") do |process|
  tcp_agent do |it|
    it.invitation
    it.get_when("/memory?pid=#{process.pid}", **BEARER)

    with("promtool", "promtool has no complaint") do
      test "promtool has no complaint" do
        said, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: it.get("/metrics", **BEARER).body)
        assert(status.success? && said.empty?, said)
      end
    end
    with("prometheus", "Prometheus scrapes it") do
      prometheus(it.to) do |own|
        test "Prometheus scrapes it with the token: memory by part, with labels that survive a restart" do
          labels, rss = waits_for(90) { query(own, "process_resident_memory_bytes{pid=\"#{process.pid}\"}").first }
          equal %w[1 v9], labels.values_at("worker", "deploy")
          now = File.read("/proc/#{process.pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i << 10
          assert(rss.between?(now / 3, now * 2), [rss, now].inspect)
          equal [1.0], query(own, 'up{job="ruby"}').map(&:last)
          assert(query(own, "ruby_memory_bytes{pid=\"#{process.pid}\"}").size >= 8)
          parts = query(own, "sum(ruby_heap_slots{pid=\"#{process.pid}\"})").map(&:last)
          assert(parts.size == 1 && parts.first > 10_000, parts.inspect)
        end
        test "and as OpenMetrics: it knows the units" do
          metadata = get(own, "/api/v1/targets/metadata", "Accept-Encoding": "identity").body
          {"ruby_memory_bytes" => "bytes", "process_cpu_seconds" => "seconds"}.each do |name, unit|
            assert(metadata.match?(/"metric":"#{name}(?:_total)?","type":"\w+","help":"[^"]*","unit":"#{unit}"/), metadata[0, 2000])
          end
        end
      end
    end
    with("go", "go tool pprof reads a profile") do
      url = "http://me:#{TOKEN}@127.0.0.1:#{it.to}/debug/pprof"
      {"heap" => "inuse_space", "allocs" => "alloc_space", "delta_heap" => "inuse_space"}.each do |page, first|
        test "go tool pprof reads #{page}, and shows #{first} first" do
          said, status = pprof("-top", "#{url}/#{page}?pid=#{process.pid}&gc=1")
          assert(status.success? && said.include?("Type: #{first}") && said.match?(/ Object#keeps$| Class#new$/), said)
        end
      end
      test "go tool pprof reads a difference, which has a second of allocations alone" do
        said, = pprof("-top", "-sample_index=alloc_objects", "#{url}/heap?pid=#{process.pid}&seconds=1")
        duration, unit, total = said.match(/^Duration: ([\d.]+)(m?s), Total samples = ([\d.]+)/)&.captures
        seconds = duration.to_f / (unit == "ms" ? 1000 : 1)
        assert(seconds >= 0.9 && total.to_f.positive? && total.to_f < 40_000 * seconds, said)
      end
      test "go tool pprof subtracts two profiles, whose frames have the same addresses" do
        files = Array.new(2) { |i| "#{FOLDER}/#{i}.pb.gz".tap { |path| File.binwrite(path, it.get("/debug/pprof/allocs?pid=#{process.pid}&seconds=1", **BEARER).body) } }
        said, status = pprof("-raw", "-diff_base=#{files[0]}", files[1])
        places = said.scan(/^ +\d+: (0x\h+) M=\d+ (.*)$/)
        assert(status.success? && places.size > 1 && places.uniq.size == places.size, said)
      end
    end
  end
end

Tap.finish
