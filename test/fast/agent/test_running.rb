# frozen_string_literal: true

# The files in deploy/: programs that read them find nothing wrong, and the agent runs as they run it.

require_relative "serving"
require "yaml"

class RunningTest < AgentTest
  DEPLOY = File.join(TOP, "deploy")
  METRICS = HeapSample::Tool::AgentMetrics::ALL.map { |name, (type, *)| type == :counter ? "#{name}_total" : name }
  # What a dashboard writes in place of a value.
  VARIABLES = {"$__rate_interval" => "5m", "$__range" => "1h", "$app" => ".*", "$pid" => ".*"}.freeze
  ROOT_ONLY = ("this needs root, and mounts in a namespace of one's own" unless Process.euid.zero? && system("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt", err: File::NULL))
  USER = 64_999

  def self.test_with(program, name, &)
    here = ENV["PATH"].split(":").any? { |folder| File.executable?("#{folder}/#{program}") }
    test(name, missing: ("no #{program}" unless here || ENV["CI"]), &)
  end

  def file(name) = File.join(DEPLOY, name)
  def yaml(name) = YAML.load_stream(File.read(file(name))).map { |one| YAML.safe_load(YAML.dump(one), aliases: true) }
  def rules = yaml("prometheus-rules.yml").first["groups"].flat_map { |group| group["rules"] }
  def dashboard = JSON.parse(File.read(file("grafana.json")))
  def panels = dashboard.fetch("panels")
  def expressions = panels.flat_map { |panel| panel["targets"].map { |target| target["expr"] } }.map { |text| VARIABLES.inject(text) { |line, (name, value)| line.gsub(name, value) } }
  def agent_container = yaml("kubernetes.yaml").first.dig("spec", "template", "spec", "containers").find { |one| one["name"] == "heapsample-agent" }

  # A copy of a file in deploy/, changed by the block.
  def copy(name)
    File.join(FOLDER, name).tap { |path| File.write(path, yield(File.read(file(name)))) }
  end

  def promtool(*arguments)
    said, status = Open3.capture2e("promtool", *arguments)
    assert(status.success?, said)
    said
  end

  test "each metric of the dashboard and the alerts is one of the agent's" do
    texts = [*expressions, *rules.map { |rule| rule["expr"] }, *dashboard.dig("templating", "list").map { |one| one["definition"].to_s }]
    used = texts.flat_map { |text| text.scan(/\b(?:ruby|process)_\w+/) }.uniq
    assert_empty used - METRICS
    assert_operator used.size, :>=, 12
    assert_equal panels.size, panels.map { |panel| panel["id"] }.uniq.size
  end

  test "there are three alerts: a leak, 90% of the limit, and a process that died" do
    assert_equal %w[RubyHeapLeak RubyMemoryNearLimit RubyProcessDied], rules.map { |rule| rule["alert"] }
    assert(rules.all? { |rule| rule["labels"]["severity"] && rule["annotations"].keys == %w[summary description] })
  end

  test_with("promtool", "Prometheus reads its files, and each expression of the dashboard") do
    said = promtool("check", "rules", file("prometheus-rules.yml"))
    assert_includes said, "3 rules found"
    records = expressions.each_with_index.map { |text, index| {"record" => "one:#{index}", "expr" => text} }
    File.write("#{FOLDER}/panels.yml", YAML.dump("groups" => [{"name" => "panels", "rules" => records}]))
    assert_includes promtool("check", "rules", "#{FOLDER}/panels.yml"), "#{records.size} rules found"
    path = copy("prometheus.yml") { |text| text.sub("/run/secrets/heap-token", TOKEN_FILE).sub("prometheus-rules.yml", file("prometheus-rules.yml")) }
    promtool("check", "config", path)
  end

  test_with("promtool", "the alerts fire when they should, and not before") do
    File.write("#{FOLDER}/alerts.yml", <<~YAML)
      rule_files: [#{file("prometheus-rules.yml")}]
      evaluation_interval: 1m
      tests:
        - interval: 1m
          input_series:
            - { series: 'ruby_heap_leak{instance="a:1",app="shop",worker="0",pid="7",line="app/cart.rb:3",grade="likely"}', values: "_x5 1x40" }
            - { series: 'ruby_heap_leak{instance="a:1",app="shop",worker="1",pid="8",line="app/cart.rb:9",grade="grows"}', values: "1x45" }
            - { series: 'ruby_memory_limit_used_bytes{instance="a:1",app="shop",worker="0",pid="7",of="cgroup"}', values: "89x10 91x30" }
            - { series: 'ruby_memory_limit_bytes{instance="a:1",app="shop",worker="0",pid="7",of="cgroup"}', values: "100x45" }
            - { series: 'ruby_heap_agent_ended_processes_total{instance="a:1",normal="false"}', values: "0x20 1x25" }
            - { series: 'ruby_heap_agent_ended_processes_total{instance="a:1",normal="true"}', values: "0+1x45" }
          alert_rule_test:
            - { eval_time: 10m, alertname: RubyHeapLeak, exp_alerts: [] }
            - eval_time: 20m
              alertname: RubyHeapLeak
              exp_alerts:
                - exp_labels: { instance: "a:1", app: shop, worker: "0", line: "app/cart.rb:3", grade: likely, severity: warning }
                  exp_annotations:
                    summary: "shop leaks memory (likely) at app/cart.rb:3"
                    description: "Open the page of the process at the agent, or run heapsample PID on a:1."
            - { eval_time: 10m, alertname: RubyMemoryNearLimit, exp_alerts: [] }
            - eval_time: 20m
              alertname: RubyMemoryNearLimit
              exp_alerts:
                - exp_labels: { instance: "a:1", app: shop, worker: "0", of: cgroup, severity: critical }
                  exp_annotations:
                    summary: "shop uses 91% of its memory limit (cgroup)"
                    description: "At the limit the kernel kills a process. ruby_memory_bytes has the parts of the memory."
            - { eval_time: 20m, alertname: RubyProcessDied, exp_alerts: [] }
            - eval_time: 25m
              alertname: RubyProcessDied
              exp_alerts:
                - exp_labels: { instance: "a:1", normal: "false", severity: critical }
                  exp_annotations:
                    summary: "A Ruby process on a:1 was killed, crashed, or called exit!"
                    description: "The log of the agent has the process and the cause. With --keep its last profile is in a file died-…"
            - { eval_time: 35m, alertname: RubyProcessDied, exp_alerts: [] }
    YAML
    promtool("test", "rules", "#{FOLDER}/alerts.yml")
  end

  test_with("systemd-analyze", "systemd finds nothing wrong in the unit, and rates it as well protected") do
    path = copy("heapsample-agent.service") { |text| text.sub("/usr/local/bin/heapsample", EXE).sub("User=app", "User=daemon") }
    said, status = Open3.capture2e("systemd-analyze", "verify", path)
    said = said.lines.grep(/heapsample-agent/).join
    assert(status.success? && said.empty?, said)
    said, = Open3.capture2e("systemd-analyze", "security", "--offline=true", path)
    assert_operator said[/exposure level for \S+: ([\d.]+)/, 1]&.to_f || flunk(said), :<=, 3.0
  end

  test "the agent knows the options of all files" do
    unit = File.read(file("heapsample-agent.service"))[/^ExecStart=\S+ (.*)/, 1].split
    [unit, yaml("compose.yaml").first.dig("services", "agent", "command").drop(1), agent_container["command"].drop(1)].each do |name, *options|
      assert_equal "agent", name
      rest = HeapSample::Tool::Commands::Agent.new.parser.permute(options)
      assert_empty rest
    end
  end

  test "compose and Kubernetes: the agent has the user, processes and sockets of the application, and writes nothing" do
    services = yaml("compose.yaml").first["services"]
    app, agent = services.values_at("app", "agent")
    assert_equal [app["user"], app["environment"]["XDG_RUNTIME_DIR"], app["volumes"]], [agent["user"], agent["environment"]["XDG_RUNTIME_DIR"], agent["volumes"]]
    assert_equal ["service:app", true, ["ALL"]], agent.values_at("pid", "read_only", "cap_drop")

    pod = yaml("kubernetes.yaml").first.dig("spec", "template", "spec")
    assert_equal [true, 1000, 1000, true], [pod["shareProcessNamespace"], *pod["securityContext"].values_at("runAsUser", "runAsGroup", "runAsNonRoot")]
    assert_equal [true, false], agent_container["securityContext"].values_at("readOnlyRootFilesystem", "allowPrivilegeEscalation")
    containers = [*pod["initContainers"], *pod["containers"]]
    assert_empty containers.flat_map { |one| one["volumeMounts"].map { |mount| mount["name"] } }.uniq.sort - pod["volumes"].map { |volume| volume["name"] }
    folders = pod["containers"].first(2).map do |one|
      [one["env"].find { |variable| variable["name"] == "XDG_RUNTIME_DIR" }["value"], one["volumeMounts"].find { |mount| mount["name"] == "heap" }["mountPath"]]
    end
    assert_equal 1, folders.flatten.uniq.size
  end

  # As in a pod: the process and the agent have each a view of the file system, and share process ids, user and one folder.
  POD = <<~'SH'
    set -e
    mount --make-rprivate /
    mount -t tmpfs -o mode=0777,size=1m heap "$XDG_RUNTIME_DIR"
    as="setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
    RUBY_HEAP_SAMPLE=interval=4k,output=none $as "$RUBY" --disable=gems -e '$0 = "a sidecar test"; $kept = Array.new(50_000) { Object.new }; sleep' &
    exec unshare --mount sh -c 'mount --make-rprivate / && mount -o remount,bind,ro / && mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
      $as "$RUBY" -rbundler/setup "$EXE" agent --http 127.0.0.1:0 --token-file "$TOKEN_FILE"
  SH

  test "a sidecar without capabilities, with a read-only root and other users' processes hidden, serves the process", missing: ROOT_ONLY do
    folder = Dir.mktmpdir("pod", "/tmp")
    File.write("#{folder}/token", TOKEN, perm: 0o600)
    [folder, "#{folder}/token"].each { |path| File.chown(USER, USER, path) }
    Dir.mkdir("#{folder}/heap", 0o755)
    env = {"XDG_RUNTIME_DIR" => "#{folder}/heap", "USER_ID" => USER.to_s, "RUBY" => RbConfig.ruby, "EXE" => EXE, "TOKEN_FILE" => "#{folder}/token", "HOME" => folder, "RUBY_HEAP_SAMPLE" => nil}
    started(env, "unshare", "--mount", "sh", "-c", POD, err: %i[child out]) do |process|
      server = Agent.new(process)
      metrics = waits_for(30) { server.get("/metrics", **BEARER).body.then { |body| body if body.include?("a sidecar test") } }
      pid = metrics[/^ruby_info\{.*pid="(\d+)".*title="a sidecar test"/, 1] || metrics[/title="a sidecar test".*pid="(\d+)"/, 1]
      assert_equal [pid], metrics.scan(/^process_resident_memory_bytes\{.*pid="(\d+)"/).flatten
      assert_equal 200, server.get("/debug/pprof/heap?pid=#{pid}", **BEARER).status
    end
  ensure
    FileUtils.rm_rf(folder) if folder
  end
end
