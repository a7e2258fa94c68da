# frozen_string_literal: true

# USDT probes with a real bpftrace on a live process. Run by test/fast/usdt/run with the Ruby under test; TAP.
require_relative "../../tap"
require_relative "../../tracer"

RUBY = RbConfig.ruby

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

  def initialize(settings, program = ["-e", WORKER])
    @in, @out, @thread = Open3.popen2({"RUBYOPT" => nil, "RUBY_HEAP_SAMPLE" => settings}, RUBY, "--disable=gems", *program)
    @pid = @thread.pid
    read until read == "ready"
  end

  def read = Timeout.timeout(60) { @out.gets&.chomp || raise("the process has ended") }

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
    @thread.value
  end
end

# It begins, and ends, a moment after a tracer came or went.
def samples_soon(worker, expected)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
  until worker.ask("GC.start; 10.times { Thread.pass }; GC::SampleProfile.running?") == expected
    flunk("after a minute it is not #{expected} that it samples") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    sleep 0.05
  end
end

def near(expected, actual, most)
  assert((expected - actual).abs <= most, "#{actual.round} for #{expected.round}, and may differ by #{most.round}")
end

# What is alive of what was born while it was traced: [samples, bytes].
def balance(lines)
  live = {}
  lines.each do |kind, id, _, bytes|
    kind == "a" ? live[id] = bytes.to_i : live.delete(id)
  end
  [live.size, live.values.sum]
end

# How much the profile says is alive of class Leaf, and of malloc.
LEAVES = 'GC.start; GC.sample_profile.rows.select { |row| row.class_name == "Leaf" }.sum { |row| row[:inuse_space].to_f + row[:young_space].to_f }'

reason = Tracer.trouble
names = ["births less deaths are what the profile says is alive", "weights of births add up to what was allocated",
  "usdt=on begins when a tracer attaches, and ends when it leaves", "malloc's blocks are traced, and freed",
  "where there are too many samples, those that stay are told again with what they count"]
if reason
  names.each { |name| Tap.skip(name, reason) }
  Tap.finish
  exit
end

test names[0] do
  worker = Worker.new("interval=4k,malloc=off,output=none")
  tracer = Tracer.new(worker.pid)
  tracer.wait_for_attach
  worker.ask("GC.start; sleep 0.5")
  before = worker.ask(LEAVES)
  worker.ask("$kept = Array.new(60_000) { Leaf.new }; Array.new(60_000) { Leaf.new }; 0")
  after = worker.ask(LEAVES)
  worker.ask("GC.start; 0")
  lines = tracer.stop
  worker.stop
  births = lines.select { |kind, _, size,| kind == "a" && size == "40" }
  dead = lines.filter_map { |kind, id| id if kind == "f" }
  alive = births.reject { |_, id,| dead.include?(id) }.sum { |*, bytes| bytes.to_i }
  near after - before, alive, 0.02 * after + 40 * 4096
  $weights = births.sum { |*, bytes| bytes.to_i }
  assert dead.size > 400, "#{dead.size} deaths of about 580"
end

check names[1], ($weights.to_f - 120_000 * 40).abs < 6 * Math.sqrt(120_000 * 40 * 4096) + 400_000, "#{$weights} for #{120_000 * 40}"

test names[2] do
  worker = Worker.new("off,interval=4k,usdt=on")
  equal false, worker.ask("GC.start; 10.times { Thread.pass }; GC::SampleProfile.running?")
  tracer = Tracer.new(worker.pid)
  tracer.wait_for_attach
  samples_soon(worker, true)
  worker.ask("$kept = Array.new(60_000) { Leaf.new }; 0")
  lines = tracer.stop
  samples_soon(worker, false)
  worker.stop
  samples, bytes = balance(lines.select { |kind, _, size,| kind == "f" || size == "40" })
  near 60_000 * 40, bytes, 6 * Math.sqrt(60_000 * 40 * 4096) + 100_000
  assert samples > 400, samples.to_s
end

test names[3] do
  worker = Worker.new("interval=1g,malloc=16k,output=none")
  tracer = Tracer.new(worker.pid)
  tracer.wait_for_attach
  sleep 0.5
  worker.ask('$kept = Array.new(2000) { "x" * 20_000 }; Array.new(1000) { "y" * 20_000 }; GC.start; GC.start; 0')
  worker.ask("$kept = nil; GC.start; GC.start; 0")
  lines = tracer.stop
  worker.stop
  births = lines.select { |kind, _, size,| kind == "a" && size == "20480" }
  dead = lines.filter_map { |kind, id| id if kind == "f" }
  near 3000 * 20_480, births.sum { |*, bytes| bytes.to_i }, 6 * Math.sqrt(3000.0 * 20_480 * 16_384)
  left = births.reject { |_, id,| dead.include?(id) }
  assert left.size < births.size / 20, "#{left.size} of #{births.size} were not freed"
end

test names[4] do
  worker = Worker.new("standby,interval=64,max-samples=2000,malloc=off,usdt=on,output=none")
  tracer = Tracer.new(worker.pid)
  tracer.wait_for_attach
  samples_soon(worker, true)
  worker.ask("$kept = Array.new(60_000) { Leaf.new }; GC.start; 0")
  alive = worker.ask("GC.sample_profile.rows.sum { |row| row[:inuse_space].to_f + row[:young_space].to_f }")
  lines = tracer.stop
  worker.stop
  assert lines.count { |kind,| kind == "f" } > 2000, "samples were to go"
  # The profile that was asked for allocates, too. Without the second word about half would be told.
  near alive, balance(lines)[1], 0.3 * alive
end

Tap.finish
