# frozen_string_literal: true

# For tests of USDT probes: a real bpftrace, attached to a process.

require "open3"
require "rbconfig"

# Traces a process: allocations and frees as one line each.
class Tracer
  # bpftrace has not attached, or not ended, in time: that is the machine's trouble, not the sampler's.
  class Slow < RuntimeError; end

  SCRIPT = <<~BT
    BEGIN { printf("attached\\n"); }
    usdt:%<ruby>s:otel_memory:alloc { printf("a %%lu %%lu %%lu\\n", arg0, arg1, arg2); }
    usdt:%<ruby>s:otel_memory:free { printf("f %%lu\\n", arg0); }
  BT

  # Why nothing can be traced here; nil: it can.
  def self.trouble
    config = File.read(File.join(RbConfig::CONFIG["rubyarchhdrdir"], "ruby/config.h"))
    return "this Ruby was built without sys/sdt.h" unless config.match?(/HAVE_SYS_SDT_H 1/)
    out, status = Open3.capture2e("timeout", "-k", "5", "30", "bpftrace", "-e", "BEGIN { printf(\"attached\\n\"); exit(); }")
    return if status.success? && out.include?("attached")
    return "bpftrace took longer than 30 s to attach" if [124, 137].include?(status.exitstatus)
    return "there is no bpftrace" if status.exitstatus == 127
    out.lines.grep(/ERROR/).first&.strip || "bpftrace cannot run here"
  rescue Errno::ENOENT
    "there is no timeout(1)"
  end

  def initialize(pid)
    # The lines of a burst must find room in the ring.
    command = ["bpftrace", "-B", "line", "-p", pid.to_s, "-e", format(SCRIPT, ruby: RbConfig.ruby)]
    @input, @out, @error, @wait = Open3.popen3({"BPFTRACE_PERF_RB_PAGES" => "4096"}, *command)
    @lines = Queue.new
    @said = +""
    @reader = Thread.new { @out.each_line { |line| @lines << line.chomp } && @lines.close }
    @complaints = Thread.new { @error.each_line { |line| @said << line } }
  end

  # Raises Slow where that takes longer, and RuntimeError if bpftrace ends before.
  def wait_for_attach(seconds = 180)
    deadline = now + seconds
    until (line = @lines.pop(timeout: [deadline - now, 0].max)) == "attached"
      next if line
      ended = @wait.join(@lines.closed? ? 5 : 0)
      kill
      raise "bpftrace ended before it attached: #{@said}" if ended
      raise Slow, "bpftrace took longer than #{seconds.round} s to attach"
    end
  end

  # What it complained about, such as events that it lost.
  attr_reader :said

  # [[kind, id, size, weighted bytes], ...], oldest first. Raises Slow where bpftrace takes longer to end.
  def stop(seconds = 60)
    sleep 2                     # its reader polls
    Process.kill(:INT, @wait.pid)
    ended = [@wait, @reader, @complaints].all? { |thread| thread.join(seconds) }
    kill
    raise Slow, "bpftrace took longer than #{seconds.round} s to end" unless ended
    lines = []
    lines << @lines.pop until @lines.empty?
    lines.map(&:split)
  end

  def alive? = @wait.alive?

  # Ends it where it still runs.
  def kill
    Process.kill(:KILL, @wait.pid) if alive?
    [@wait, @reader, @complaints].each { |thread| thread.join(5) }
  rescue Errno::ESRCH
    # it has ended meanwhile
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
