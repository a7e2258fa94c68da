# frozen_string_literal: true

# Is a sample weighted by the interval at which it was drawn, whatever happens between its draw and the moment it is taken?
#
# A walk is a program of eight steps. At each step the intervals of slots and of malloc change at random, while threads
# start, idle, work and end; some walks fork, some have a Ractor, some compact, some reach max-samples. What a profile says
# of the walk is compared with what the walk did:
#
#     z = (estimate - truth) / standard deviation
#
# Each walk is repeated 20 times; its variance is the mean of what the 20 profiles say. At default settings (auto) the
# interval moves by itself, in one long life; a walk is a part of it, and its variance is the variance at the intervals in force.
#
# The mean of z has to be within 0.08 of 0, its standard deviation between 0.94 and 1.06. Of 4,500 walks, were z normal, the
# mean is outside once in 12 million times (5.37 standard deviations), the standard deviation once in 70 million (5.69). So
# chance fails one of the six figures of a run less than once in 1.6 million runs. Fewer walks have wider bounds.
#
# The walks are the same in each run.
# Usage: [TRIALS=4500] ruby changing_trials.rb
require "fiddle"
require "rbconfig"
require "heapsample"
require_relative "../../testing" unless %w[--walks --life].include?(ARGV[0])

class Counted; end              # a slot of 40 bytes

# What was made since a walk began, bytes. Every second object and block is kept until it ends.
class Made
  attr_accessor :slots, :blocks
  attr_reader :kept_blocks

  def initialize
    @slots = @blocks = @kept_blocks = 0
    @objects = []
    @addresses = []
  end

  def objects(count)
    count.times { |i| i.odd? ? @objects << Counted.new : Counted.new }
    @slots += count * 40
  end

  def malloc(count, size)
    count.times do |i|
      address = Fiddle.malloc(size)
      i.odd? ? @addresses << address : Fiddle.free(address)
    end
    @blocks += count * size
    @kept_blocks += count / 2 * size
  end

  def kept_slots = @objects.size * 40

  def drop
    @addresses.each { |address| Fiddle.free(address) }
    @objects.clear
  end
end

# A thread that works on request.
class Worker
  def initialize
    @jobs = Queue.new
    @done = Queue.new
    @begun = 0
    @thread = Thread.new { while (job = @jobs.pop) do @done << job.call end }
  end

  def begin(&job)
    @begun += 1
    @jobs << job
  end

  def wait
    @done.pop.then { @begun -= 1 } while @begun.positive?
  end

  def finish
    wait
    @jobs.close
    @thread.join
  end
end

# What a profile says: bytes and variance of each figure.
module Figures
  NAMES = ["slots, allocated", "slots, in use", "malloc, allocated", "malloc, in use"].freeze

  module_function

  def of(profile)
    rows = profile.rows
    [rows.select { |row| row.class_name == "Counted" }, blocks(rows)].flat_map do |kind|
      [%i[alloc], %i[inuse young]].map do |names|
        values = kind.flat_map { |row| names.map { |name| row.public_send(name) } }
        [values.sum(&:space), values.sum(&:variance)]
      end
    end
  end

  def blocks(rows) = rows.select { |row| row.class_name == "(malloc)" && row.stack.any? { |frame| frame.label == "rb_fiddle_malloc" } }
end

class Walk
  INTERVALS = [256, 1000, 1024, 2048, 4096, 16_384].freeze
  MALLOC_INTERVALS = [4096, 8192, 10_000, 16_384, 65_536, 131_072].freeze
  SIZES = [320, 1024, 2560, 5120, 10_240].freeze                # jemalloc's own
  STEPS = 8
  POOL = Array.new(4) { Worker.new }

  def initialize(number)
    @number = number
    random = Random.new(number)
    @max_samples = random.rand(3).zero? ? 600 : 200_000
    @forks, @has_ractor, @compacts = [10, 10, 100].map { |each| random.rand(each).zero? }
    @lives = Array.new(3) { [random.rand(1..4), random.rand(3..STEPS)] }        # threads of the walk: from step to step
    @steps = Array.new(STEPS) { step(random) }
  end

  # One repetition: of each figure the truth, the estimate and its variance.
  def run(repetition)
    GC::SampleProfile.stop
    # What idles or works while nothing is sampled has draws of its own, too.
    POOL.each { |worker| worker.begin { Fiddle.free(Fiddle.malloc(20_000)) } } if @number.even?
    POOL.each(&:wait)
    @made = Made.new
    GC::SampleProfile.start(interval: INTERVALS[@number % 6], malloc: MALLOC_INTERVALS[@number / 6 % 6],
                            max_samples: @max_samples, seed: @number * 1000 + repetition)
    steps
    @forks ? in_child { last_steps } : last_steps
  ensure
    @made.drop
  end

  private

  def step(random)
    jobs = Array.new(POOL.size + @lives.size + 1) do
      next if random.rand > 0.4

      size = SIZES.sample(random: random)
      [random.rand(200..800), random.rand(64..400) * 1024 / size, size]
    end
    {intervals: [INTERVALS, MALLOC_INTERVALS].map { |list| list.sample(random: random) }, jobs: jobs, waits: random.rand(2).zero?,
     compiles: random.rand(4).zero?}
  end

  def steps
    workers = {}
    STEPS.times do |i|
      @lives.each_with_index do |(from, to), n|
        workers[n] = Worker.new if i == from
        workers.delete(n)&.finish if i == to
      end
      take(@steps[i], POOL + @lives.size.times.map { |n| workers[n] })
      ractor if @has_ractor && i == 5
      GC.compact if @compacts && i == 6
    end
  ensure
    (POOL + workers.values).each(&:wait)
    workers.each_value(&:finish)
  end

  # The first jobs are of the threads, the last is of this one. The interval changes while they work or before.
  def take(step, workers)
    made = @made
    step[:jobs].zip(workers) do |(objects, blocks, size), worker|
      next unless objects && worker

      worker.begin do
        compile if step[:compiles]
        made.objects(objects)
        made.malloc(blocks, size)
      end
    end
    Thread.pass
    change(step)
    objects, blocks, size = step[:jobs].last
    made.objects(objects) && made.malloc(blocks, size) if objects
    workers.each { |worker| worker&.wait } if step[:waits]
  end

  def change(step)
    interval, malloc = step[:intervals]
    GC::SampleProfile.start(interval: interval, malloc: malloc)
  end

  # Once more, in this thread and in a new one.
  def last_steps
    made = @made
    change(@steps[1])
    made.objects(300)
    made.malloc(50, 5120)
    Thread.new { made.objects(300); made.malloc(50, 5120) }.join
    GC.start(full_mark: false)
    [made.slots, made.kept_slots, made.blocks, made.kept_blocks].zip(Figures.of(GC.sample_profile)).map(&:flatten)
  end

  def in_child
    IO.popen("-", "rb") do |child|
      next Marshal.load(child) if child

      $stdout.binmode.write(Marshal.dump(yield))
      $stdout.flush
      exit!
    end
  end

  # Its objects are made where other free lists are.
  def ractor
    Ractor.new { 400.times { Counted.new } }.take
    @made.slots += 400 * 40
  end

  # With YJIT, the thread compiles, and jemalloc draws nothing meanwhile.
  def compile
    eval("def fresh(a) = [a, a + 1, { a => a }].map { |b| b.to_s }", binding, __FILE__, __LINE__)
    3.times { |i| fresh(i) }
  end
end

REPEATED = 20

# z of each figure of each repetition.
def walks(from, count)
  (count / REPEATED).times.flat_map do |i|
    walk = Walk.new(from + i)
    runs = Array.new(REPEATED) { |n| walk.run(n) }
    runs.transpose.map do |figure|
      deviation = Math.sqrt(figure.sum { |_, _, variance| variance } / REPEATED)
      figure.map { |truth, estimate,| (estimate - truth) / deviation }
    end.transpose
  end
end

# -- at default settings -------------------------------------------------------------------------

# It rests, so that samples are paid for and the intervals get shorter, and then works for some walks, in which they get
# longer. What a walk makes is worth some 80 samples at the intervals in force.
class Life
  SLOT = 640
  BLOCK = 16_384
  WALKS = 20                    # between two rests
  attr_reader :moves

  def initialize(seed)
    @random = Random.new(seed)
    @pool = Array.new(8) { Worker.new }
    @moves = [0, 0]
    @before = figures
  end

  # z of slots and of malloc.
  def walk(number)
    @variance = [0.0, 0.0]
    @truth = [0, 0]
    rest if (number % WALKS).zero?
    fresh = Worker.new if @random.rand(3).zero?
    workers = [*@pool.sample(2, random: @random), fresh].compact
    20.times { |i| batch(workers[i % workers.size]) }
    fresh&.finish
    now = figures
    [0, 1].map { |kind| (now[kind] - @before[kind] - @truth[kind]) / Math.sqrt(@variance[kind]) }.tap { @before = now }
  end

  private

  def intervals = GC::SampleProfile.stat.values_at(:interval, :malloc_interval)

  # What the walks before cost is forgotten after a quarter of a second of CPU time, of which an idle process is given a fifth.
  def rest
    sleep 1.3
    GC.start
    sleep(@random.rand(0.3..0.6))
    GC.start
  end

  def batch(worker)
    before = intervals
    sizes = [SLOT, BLOCK]
    counts = before.zip(sizes).map { |interval, size| (@random.rand(2.0..6.0) * interval / size).ceil }
    worker.begin do
      counts[0].times { text }
      counts[1].times { Fiddle.free(Fiddle.malloc(BLOCK)) }
    end
    worker.wait
    after = intervals
    2.times do |kind|
      @moves[kind] += 1 if after[kind] != before[kind]
      @truth[kind] += counts[kind] * sizes[kind]
      @variance[kind] += [before, after].sum { |of| counts[kind] * sizes[kind]**2 * (1 / (1 - Math.exp(-sizes[kind].fdiv(of[kind]))) - 1) } / 2
    end
  end

  def text = "x" * 600

  def figures
    rows = GC.sample_profile.rows
    texts = rows.select { |row| row.slot_size == SLOT && row.stack.any? { |frame| frame.label == "Life#text" } }
    [texts, Figures.blocks(rows)].map { |of| of.sum { |row| row.alloc.space } }
  end
end

def life(seed, count)
  life = Life.new(seed)
  [Array.new(count) { |i| life.walk(i) }, life.moves]
end

# -- the judgement -------------------------------------------------------------------------------

if %w[--walks --life].include?(ARGV[0])
  numbers = ARGV.drop(1).map { |text| Integer(text) }
  $stdout.binmode.write(Marshal.dump(ARGV[0] == "--walks" ? walks(*numbers) : life(*numbers)))
  exit
end

class ChangingIntervalsTest < Test
  COUNT = Integer(ENV["TRIALS"] || 4500)

  Figures::NAMES.each_with_index do |name, at|
    test("set intervals, #{name}: the error in deviations has a mean of 0 and a deviation of 1") { assert_normal(parts[0][at]) }
  end

  ["slots, allocated", "malloc, allocated"].each_with_index do |name, at|
    test("default settings, #{name}: the error in deviations has a mean of 0 and a deviation of 1") { assert_normal(parts[1][at]) }
  end

  test "at default settings the intervals move" do
    assert_operator parts[2].min, :>, COUNT / 100
  end

  private

  # Of set intervals and of default settings: z of each figure; how often the intervals of slots and of malloc moved.
  def parts
    @@parts ||= begin
      # Walks of one half run where YJIT compiles.
      yjit = %w[--yjit --yjit-call-threshold=2] if RbConfig::CONFIG["YJIT_SUPPORT"] == "yes"
      settings = "--heap-sample=output=none,interval=1t,malloc=1t"
      all = [[[settings], "--walks", 0, COUNT / 2], [[settings, *yjit], "--walks", 1_000_000, COUNT / 2],
             *Array.new(3) { |i| [["--heap-sample=output=none"], "--life", i, COUNT / 3] }]
      plain, compiled, *lives = all.map { |options, *arguments| Thread.new { part(options, *arguments) } }.map(&:value)
      [(plain + compiled).transpose, lives.flat_map(&:first).transpose, lives.map(&:last).transpose.map(&:sum)]
    end
  end

  def part(options, *arguments)
    result = IO.popen([RbConfig.ruby, "-W0", "--disable=gems", *options, __FILE__, *arguments.map(&:to_s)], "rb", &:read)
    $?.success? ? Marshal.load(result) : raise("#{arguments.join(" ")} failed")
  end

  def assert_normal(zs)
    more = Math.sqrt(4500.0 / zs.size)
    mean = zs.sum / zs.size
    spread = Math.sqrt(zs.sum { |z| (z - mean)**2 } / zs.size)
    note format("mean %.4f, deviation %.4f of %d walks", mean, spread, zs.size)
    assert_in_delta 0, mean, 0.08 * more
    assert_in_delta 1, spread, 0.06 * more
  end
end
