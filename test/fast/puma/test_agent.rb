# frozen_string_literal: true

# Puma's plugin starts `heapsample agent` and ends it.

require_relative "cluster"

class AgentOfPumaTest < PumaTest
  FOLDER = Dir.mktmpdir("puma", "/tmp")
  Minitest.after_run { FileUtils.rm_rf(FOLDER) }

  # Yields the port, Puma's first process, and the PID of its agent, which answers.
  def with_agent(workers, signal: :TERM)
    ENV["XDG_RUNTIME_DIR"] = FOLDER
    cluster("agent", {"RUBY_HEAP_SAMPLE" => "interval=64k,malloc=off,output=none", "WORKERS" => workers.to_s, "PIDFILE" => "#{FOLDER}/pid", "AGENT_SOCKET" => socket}, signal: signal) do |port, master|
      yield port, master, waits_for(30) { agent_of(master) if answers? }
    end
  end

  def socket = "#{FOLDER}/agent/http.sock"
  def answers? = !metrics.empty?
  # A child that ends meanwhile may hide others.
  def children(pid) = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)
  def agents(master) = children(master).select { |pid| File.read("/proc/#{pid}/cmdline").split("\0").include?("agent") }
  def agent_of(master) = agents(master).then { |pids| pids.first if pids.one? }

  def metrics
    UNIXSocket.open(socket) { |client| client.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") && client.read }
  rescue SystemCallError
    ""
  end

  def gone?(pid)
    File.read("/proc/#{pid}/stat").match?(/\) [ZX]/)
  rescue SystemCallError
    true
  end

  def alive?(pid) = !gone?(pid)

  [[0, "one process"], [2, "a cluster"]].each do |workers, what|
    test "the agent of #{what} serves its processes, and ends with it" do
      agent = nil
      with_agent(workers) do |port, master, pid|
        agent = pid
        worker = number_at(port)
        waits_for(30) { metrics.match?(/^process_resident_memory_bytes\{.*pid="#{worker}"\}/) }
        refute_includes metrics, "pid=\"#{agent}\""
        assert alive?(agent)
        waits_for(10) { agents(master) == [agent] }
      end
      assert gone?(agent), "the agent is alive after Puma has stopped"
    end
  end

  test "a phased restart leaves the agent alone, and Puma ends it afterwards" do
    agent = nil
    with_agent(2) do |port, master, pid|
      agent = pid
      before = number_at(port)
      Process.kill(:USR1, master)
      waits_for(60) { number_at(port)&.then { |worker| worker != before && gone?(before) } }
      waits_for(10) { agents(master) == [agent] }
      assert answers?
    end
    assert gone?(agent)
  end

  test "after a restart there is one agent, a new one" do
    agent = nil
    with_agent(0) do |port, master, pid|
      Process.kill(:USR2, master)
      waits_for(60) { gone?(pid) && number_at(port) && answers? && (agent = agent_of(master)) }
      refute_equal pid, agent
    end
    assert gone?(agent)
  end

  test "the agent ends when Puma is killed" do
    agent = nil
    with_agent(0, signal: :KILL) { |_, _, pid| agent = pid }
    waits_for(10) { gone?(agent) }
  end

  test "Puma stops in time though the agent has ended by itself" do
    with_agent(0) do |_, _, agent|
      Process.kill(:KILL, agent)
      waits_for(10) { gone?(agent) }
    end
  end
end
