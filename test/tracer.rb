# frozen_string_literal: true

# For tests of USDT probes: a real bpftrace, attached to a process.

require "open3"
require "rbconfig"
require "timeout"

# Traces a process: births and deaths as one line each.
class Tracer
  SCRIPT = <<~BT
    BEGIN { printf("attached\\n"); }
    usdt:%<ruby>s:otel_memory:alloc { printf("a %%lu %%lu %%lu\\n", arg0, arg1, arg2); }
    usdt:%<ruby>s:otel_memory:free { printf("f %%lu\\n", arg0); }
  BT

  # Why nothing can be traced here; nil: it can.
  def self.trouble
    config = File.read(File.join(RbConfig::CONFIG["rubyarchhdrdir"], "ruby/config.h"))
    return "this Ruby was built without sys/sdt.h" unless config.match?(/HAVE_SYS_SDT_H 1/)
    out, status = Open3.capture2e("bpftrace", "-e", "BEGIN { printf(\"attached\\n\"); exit(); }")
    status.success? && out.include?("attached") ? nil : out.lines.grep(/ERROR/).first&.strip || "bpftrace cannot run here"
  rescue Errno::ENOENT
    "there is no bpftrace"
  end

  def initialize(pid)
    # The lines of a burst must find room in the ring.
    command = ["bpftrace", "-B", "line", "-p", pid.to_s, "-e", format(SCRIPT, ruby: RbConfig.ruby)]
    @input, @out, @error, @wait = Open3.popen3({"BPFTRACE_PERF_RB_PAGES" => "4096"}, *command)
    @lines = Queue.new
    @said = +""
    @reader = Thread.new { @out.each_line { |line| @lines << line.chomp } }
    @complaints = Thread.new { @error.each_line { |line| @said << line } }
  end

  def wait_for_attach = Timeout.timeout(180) { nil until @lines.pop == "attached" }

  # What it complained about, such as events that it lost.
  attr_reader :said

  # [[kind, id, size, weighted bytes], ...], oldest first
  def stop
    sleep 2                     # its reader polls
    Process.kill(:INT, @wait.pid)
    @wait.value
    [@reader, @complaints].each(&:join)
    lines = []
    lines << @lines.pop until @lines.empty?
    lines.map(&:split)
  end
end
