# frozen_string_literal: true

# USDT probes, traced by a real bpftrace on live processes.
require_relative "../../testing"
require_relative "../../tracer"
require "set"
require "timeout"

class UsdtTest < Test
  TROUBLE = Tracer.trouble
  # No test takes longer: each wait ends when its test has no time left.
  SECONDS = 60
  # A wait for bpftrace to end comes on top.
  STOP_SECONDS = 15

  class << self
    attr_accessor :slow         # why bpftrace was too slow
  end

  # A program that does a line of work for each line of its stdin, and answers "done".
  WORKER = <<~'RUBY'
    $stdout.sync = true
    class Leaf; end
    $kept = []
    puts "ready"
    while (line = gets)
      puts "#{eval(line).inspect}\ndone"
    end
  RUBY

  class Worker
    attr_reader :pid

    # `left` is called for the seconds that a wait may take.
    def initialize(settings, left, program = ["-e", WORKER])
      @left = left
      @in, @out, @thread = Open3.popen2({"RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => settings}, RbConfig.ruby, "--disable=gems", *program)
      @pid = @thread.pid
      read until read == "ready"
    end

    def read = Timeout.timeout(@left.call) { @out.gets&.chomp || raise("the process has ended") }

    def ask(code)
      @in.puts(code)
      answer = nil
      until (line = read) == "done"
        answer = line
      end
      eval(answer)
    end

    def stop
      @in.close
      ended = @thread.join(@left.call)
      kill
      raise "the process has not ended" unless ended
    end

    # Ends it where it still runs.
    def kill
      Process.kill(:KILL, @thread.pid) if @thread.alive?
      @thread.join(5)
    rescue Errno::ESRCH
      # it has ended meanwhile
    end
  end

  # Where bpftrace was too slow once, the other tests do not wait for it again.
  def setup
    skip self.class.slow if self.class.slow
    @deadline = now + SECONDS
    @ends = []
  end

  def teardown = @ends&.reverse_each(&:kill)

  # How much the profile says is alive of class Leaf, and of malloc.
  LEAVES = 'GC.start; GC.sample_profile.rows.select { |row| row.class_name == "Leaf" }.sum { |row| row[:inuse_space].to_f + row[:young_space].to_f }'

  test "allocations less frees are what the profile states as live, and their weights add up", missing: TROUBLE do
    worker = started("interval=4k,malloc=off,output=none")
    tracer = attached(worker)
    worker.ask("GC.start; sleep 0.5")
    before = worker.ask(LEAVES)
    worker.ask("$kept = Array.new(60_000) { Leaf.new }; Array.new(60_000) { Leaf.new }; 0")
    after = worker.ask(LEAVES)
    worker.ask("GC.start; 0")
    lines = traced(tracer)
    worker.stop
    allocations = lines.select { |kind, _, size,| kind == "a" && size == "40" }
    freed = lines.filter_map { |kind, id| id if kind == "f" }.to_set
    alive = allocations.reject { |_, id,| freed.include?(id) }.sum { |*, bytes| bytes.to_i }
    assert_in_delta after - before, alive, 0.02 * after + 40 * 4096
    assert_operator freed.size, :>, 400 # of about 580
    assert_in_delta 120_000 * 40, allocations.sum { |*, bytes| bytes.to_i }, 6 * Math.sqrt(120_000 * 40 * 4096) + 400_000
  end

  test "usdt=on starts sampling when a tracer attaches, and stops when it leaves", missing: TROUBLE do
    worker = started("off,interval=4k,usdt=on")
    assert_equal false, worker.ask("GC.start; 10.times { Thread.pass }; GC::SampleProfile.running?")
    tracer = attached(worker)
    samples_soon(worker, true)
    worker.ask("$kept = Array.new(60_000) { Leaf.new }; 0")
    lines = traced(tracer)
    samples_soon(worker, false)
    worker.stop
    samples, bytes = balance(lines.select { |kind, _, size,| kind == "f" || size == "40" })
    assert_in_delta 60_000 * 40, bytes, 6 * Math.sqrt(60_000 * 40 * 4096) + 100_000
    assert_operator samples, :>, 400
  end

  test "malloc's blocks are traced, and freed", missing: TROUBLE do
    worker = started("interval=1g,malloc=16k,output=none")
    tracer = attached(worker)
    sleep 0.5
    worker.ask('$kept = Array.new(2000) { "x" * 20_000 }; Array.new(1000) { "y" * 20_000 }; GC.start; GC.start; 0')
    worker.ask("$kept = nil; GC.start; GC.start; 0")
    lines = traced(tracer)
    worker.stop
    allocations = lines.select { |kind, _, size,| kind == "a" && size == "20480" }
    freed = lines.filter_map { |kind, id| id if kind == "f" }.to_set
    assert_in_delta 3000 * 20_480, allocations.sum { |*, bytes| bytes.to_i }, 6 * Math.sqrt(3000.0 * 20_480 * 16_384)
    left = allocations.reject { |_, id,| freed.include?(id) }
    assert_operator left.size, :<, allocations.size / 20
  end

  test "where there are too many samples, those that stay are traced again with what they count", missing: TROUBLE do
    worker = started("standby,interval=64,max-samples=2000,malloc=off,usdt=on,output=none")
    tracer = attached(worker)
    samples_soon(worker, true)
    worker.ask("$kept = Array.new(60_000) { Leaf.new }; GC.start; 0")
    alive = worker.ask("GC.sample_profile.rows.sum { |row| row[:inuse_space].to_f + row[:young_space].to_f }")
    lines = traced(tracer)
    worker.stop
    assert_operator lines.count { |kind,| kind == "f" }, :>, 2000
    # The profile that was asked for allocates, too. Without the second word about half would be reported.
    assert_in_delta alive, balance(lines)[1], 0.3 * alive
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def left = [@deadline - now, 0.1].max
  def started(settings) = Worker.new(settings, method(:left)).tap { |worker| @ends << worker }

  def attached(worker)
    tracer = Tracer.new(worker.pid).tap { |it| @ends << it }
    unless_slow { tracer.wait_for_attach(left) }
    tracer
  end

  # The lines of a tracer that ends.
  def traced(tracer) = unless_slow { tracer.stop(STOP_SECONDS) }

  def unless_slow
    yield
  rescue Tracer::Slow => slow
    skip self.class.slow = slow.message
  end

  # It begins, and ends, a moment after a tracer came or went.
  def samples_soon(worker, expected)
    until worker.ask("GC.start; 10.times { Thread.pass }; GC::SampleProfile.running?") == expected
      flunk("it still #{expected ? "takes no" : "takes"} samples, after #{SECONDS} s of the test") if now > @deadline
      sleep 0.05
    end
  end

  # What is still live of the memory allocated while it was traced: [samples, bytes].
  def balance(lines)
    live = {}
    lines.each do |kind, id, _, bytes|
      kind == "a" ? live[id] = bytes.to_i : live.delete(id)
    end
    [live.size, live.values.sum]
  end
end
