# frozen_string_literal: true

# Programs that read the answers: Prometheus, promtool and go tool pprof, each with the token.

require_relative "serving"

class ReadersTest < AgentTest
  CHURNS = "def keeps = $kept << Array.new(100) { Object.new }; $kept = []; $0 = 'puma: cluster worker 1: 9 [shop]'; ready; loop { keeps; sleep 0.01 }"

  # CI has all of these programs; elsewhere one may be missing.
  def self.test_with(program, name, &)
    here = ENV["PATH"].split(":").any? { |folder| File.executable?("#{folder}/#{program}") }
    test(name, missing: ("no #{program}" unless here || ENV["CI"]), &)
  end

  shared(:process) { |share| sampled(CHURNS, "interval=4k,output=none,deploy=v9") { |process| share.call(process) } }
  shared(:server) do |share|
    tcp_agent do |server|
      server.invitation
      server.get_when("/memory?pid=#{process.pid}", **BEARER)
      share.call(server)
    end
  end
  shared(:prometheus) { |share| scrape(server.to) { |port| share.call(port) } }

  def pprof(*arguments) = Open3.capture2e({"PPROF_TMPDIR" => FOLDER, "HOME" => FOLDER}, "go", "tool", "pprof", *arguments)
  def url = "http://me:#{TOKEN}@127.0.0.1:#{server.to}/debug/pprof"

  # A Prometheus that scrapes the agent every 3 seconds; its port is yielded.
  def scrape(port)
    own = free_port
    File.write("#{FOLDER}/prometheus.yml", <<~YAML)
      global: { scrape_interval: 3s, scrape_timeout: 3s }
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
  def query(text)
    body = ask(prometheus, request("/api/v1/query?query=#{text.gsub(/\W/) { |char| format("%%%02X", char.ord) }}", "Accept-Encoding": "identity")).body
    JSON.parse(body[/\{.*\}/m])["data"]["result"].map { |one| [one["metric"], one["value"].last.to_f] }
  rescue SystemCallError, JSON::ParserError, TypeError
    []
  end

  test_with("promtool", "promtool finds nothing wrong in the metrics") do
    said, status = Open3.capture2e("promtool", "check", "metrics", stdin_data: server.get("/metrics", **BEARER).body)
    assert(status.success? && said.empty?, said)
  end

  test_with("prometheus", "Prometheus scrapes memory by part with the token, with labels that survive a restart") do
    labels, rss = waits_for(90) { query("process_resident_memory_bytes{pid=\"#{process.pid}\"}").first }
    assert_equal %w[1 v9], labels.values_at("worker", "deploy")
    now = File.read("/proc/#{process.pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i << 10
    assert_includes now / 3..now * 2, rss
    assert(waits_for(90) { query('up{job="ruby"}').map(&:last) == [1.0] })
    assert_operator query("ruby_memory_bytes{pid=\"#{process.pid}\"}").size, :>=, 8
    parts = query("sum(ruby_heap_slots{pid=\"#{process.pid}\"})").map(&:last)
    assert(parts.size == 1 && parts.first > 10_000, parts.inspect)
  end

  test_with("prometheus", "Prometheus reads OpenMetrics, with the units") do
    waits_for(90) { query("process_resident_memory_bytes{pid=\"#{process.pid}\"}").first }
    metadata = ask(prometheus, request("/api/v1/targets/metadata", "Accept-Encoding": "identity")).body
    {"ruby_memory_bytes" => "bytes", "process_cpu_seconds" => "seconds"}.each do |name, unit|
      assert_match(/"metric":"#{name}(?:_total)?","type":"\w+","help":"[^"]*","unit":"#{unit}"/, metadata)
    end
  end

  {"heap" => "inuse_space", "allocs" => "alloc_space", "delta_heap" => "inuse_space"}.each do |page, first|
    test_with("go", "go tool pprof reads #{page}, and shows #{first} first") do
      said, status = pprof("-top", "#{url}/#{page}?pid=#{process.pid}&gc=1")
      assert(status.success? && said.include?("Type: #{first}") && said.match?(/ Object#keeps$| Class#new$/), said)
    end
  end

  test_with("go", "go tool pprof reads a difference, which has a second of allocations alone") do
    said, = pprof("-top", "-sample_index=alloc_objects", "#{url}/heap?pid=#{process.pid}&seconds=1")
    duration, unit, total = said.match(/^Duration: ([\d.]+)(m?s), Total samples = ([\d.]+)/)&.captures
    seconds = duration.to_f / (unit == "ms" ? 1000 : 1)
    assert(seconds >= 0.9 && total.to_f.positive? && total.to_f < 40_000 * seconds, said)
  end

  test_with("go", "go tool pprof subtracts two profiles, whose frames have the same addresses") do
    files = Array.new(2) { |i| "#{FOLDER}/#{i}.pb.gz".tap { |path| File.binwrite(path, server.get("/debug/pprof/allocs?pid=#{process.pid}&seconds=1", **BEARER).body) } }
    said, status = pprof("-raw", "-diff_base=#{files[0]}", files[1])
    places = said.scan(/^ +\d+: (0x\h+) M=\d+ (.*)$/)
    assert(status.success? && places.size > 1 && places.uniq.size == places.size, said)
  end
end
