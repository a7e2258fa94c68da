# frozen_string_literal: true

# bpftrace on a Rails application that serves requests: what USDT probes report as allocated, less what they report as freed, is what
# the profile says is alive. Usage: ruby -rbundler/setup traced.rb, in the example's folder, with its environment.
require_relative "../../testing"
require "heapsample"
require "net/http"
require_relative "../../gems"
require_relative "../../server"
require_relative "../../tracer"

OUT = output_folder(__dir__)
# Samples of each kind that a comparison needs, and how often CASES' seconds may pass until they are there.
LEAST = 10
TURNS = 5
# By their name, settings, and seconds of requests.
CASES = {
  "at fixed intervals" => ["interval=16k,malloc=2k", 10],
  "where there are too many samples, and those that stay count for those that go" => ["interval=1k,malloc=512,max-samples=3000", 10],
  "at the intervals that Ruby chooses" => ["interval=auto,malloc=auto", 20],
}.freeze

class TracedTest < Test
  CASES.each do |name, (settings, seconds)|
    test "allocations less frees are what the profile states as live, #{name}" do
      traced(settings, seconds) do |lines, profile|
        slots, malloc = living(lines).partition { |id,| id.even? }.map(&:to_h)
        agree(:slots, slots, profile)
        agree(:malloc, malloc, profile)
      end
    end
  end

  private

  # What is live of what was reported: weighted bytes by id. A sample that is reported again counts anew.
  def living(lines)
    lines.each_with_object({}) do |(kind, id, _, bytes), live|
      kind == "a" ? live[id.to_i] = bytes.to_i : live.delete(id.to_i)
    end
  end

  def serve(port, seconds)
    said = IO.popen(["wrk", "-t1", "-c4", "-d#{seconds}s", "-s", "load.lua", "http://127.0.0.1:#{port}"], &:read)
    said[/(\d+) requests in/, 1].to_i.tap { |requests| raise said if requests < 20 || said.match?(/Non-2xx|Socket errors/) }
  end

  # Sampling begins when the tracer comes, so it gets the samples of the profile, but for what happens
  # between the profile and its end. Memory of YJIT's compiler is counted, not sampled. Live memory that is younger than the last
  # mark, is alive.
  def known(profile, kind)
    groups = profile.groups(:line, kind: kind).reject { |group| group.key.to_s == "(YJIT)" }
    HeapSample::Estimate.sum(groups.flat_map { |group| [group.inuse, group.young] })
  end

  def agree(kind, told, profile)
    known = known(profile, kind)
    low, high = known.space_interval
    note "#{kind}: #{told.size} samples, #{told.values.sum} bytes; the profile: #{known.samples}, #{known.space.round}, #{low.round} to #{high.round}"
    assert_operator told.size, :>=, LEAST, kind.to_s
    assert_in_delta known.samples, told.size, 10 + 0.05 * known.samples, kind.to_s
    assert_includes low..high, told.values.sum, kind.to_s
  end

  def up?(port)
    Net::HTTP.get(URI("http://127.0.0.1:#{port}/up")) == "up"
  rescue SystemCallError
    false
  end

  def traced(settings, seconds)
    env = {"RUBY_HEAP_SAMPLE" => "standby,usdt=on,output=none,#{settings}"}
    # Some of Puma's graceful stops hang, on an unpatched Ruby too.
    puma(File.expand_path("config/puma.rb"), env, log: "#{OUT}/traced.log", up: method(:up?), signal: :KILL) do |port, pid|
      server = HeapSample::LiveProcess.new(pid)
      serve(port, 2)
      tracer = Tracer.new(pid)
      tracer.wait_for_attach
      requests, profile = 0, nil
      TURNS.times do
        requests += serve(port, seconds)
        server.profile(gc: true, diagnose: "50%")
        sleep 1                     # connections end
        profile = server.profile(gc: true, diagnose: "50%")
        break if known(profile, :malloc).samples >= 2 * LEAST
      end
      lines = tracer.stop
      note "#{requests} requests, #{lines.count { |kind,| kind == "a" }} allocations and #{lines.count { |kind,| kind == "f" }} frees reported"
      assert_empty tracer.said.lines.grep(/lost/i)
      yield lines, profile
    end
  end
end
