# frozen_string_literal: true

require_relative "build"

# Series of profiles of a process that never ran: objects are allocated and freed as the
# lines below say, GCs notice it, and what is sampled of them is handed over as rows.
#
# As sampling thins allocations independently, sampled allocations are Poisson with the rate of
# the allocations by the weight, and only they are simulated: every figure below is in
# expected samples.  Time runs from 0 to 1 over a series of HOURS.
#
#   series = SeriesSimulator.new(seed: 1, profiles: 20).leak("a", 60).queue("b", 100).series
class SeriesSimulator
  INTERVAL = 512 * 1024
  SLOT = 160
  HOURS = 2
  # What one sample stands for.
  BYTES = SLOT / (1 - Math.exp(-SLOT / INTERVAL.to_f))
  WORK = 100_000          # objects allocated between two GCs
  MINORS = 8              # GCs between two profiles
  OLD = 3                 # GCs after which only a major one frees

  attr_reader :random

  # +majors+: major GCs between two profiles, on average; +traffic+: a proc of time, at most 1, that
  # says how much of the GCs, and of #leak and #churn, there is.
  def initialize(seed:, profiles: 20, majors: 2.0, traffic: nil)
    @random = Random.new(seed)
    @traffic = traffic
    @times = Array.new(profiles) { |index| (index + 1 + 0.3 * (@random.rand - 0.5)) / profiles }
    count = MINORS * profiles
    @gcs = Array.new(count) { moment }.sort
    @major = Array.new(count) { @random.rand < majors / MINORS }
    @lines = Hash.new { |lines, name| lines[name] = [] }
    @passing = {}
    @malloc = {}
    @most = 0
    @sizes = {}
  end

  # Allocated evenly, or at +rate+ (a proc of time, at most 1), and never freed.
  def leak(name, samples, rate: @traffic, from: 0.0, to: 1.0)
    allocate(samples, rate: rate, from: from, to: to) { |_| [name, Float::INFINITY] }
  end

  # Short-lived objects: so many at any time.
  def churn(name, samples)
    @passing[name] = samples
    self
  end

  # Steady allocation and exponential lifetimes: a cache that is full, sessions; full from the start unless +fills+.
  def turnover(name, samples, life, fills: false)
    allocate(samples / life, from: fills ? 0 : -5 * life, span: fills ? 1 : 1 + 5 * life) { |time| [name, time + exponential(life)] }
  end

  # A cache without end of keys that come back: full of +samples+ at the end of time.
  def fills(name, samples, life)
    leak(name, samples / life, rate: ->(time) { Math.exp(-time / life) })
  end

  # One large load.
  def step(name, samples, at)
    poisson(samples).times { add(name, at + 1e-6 * @random.rand, Float::INFINITY) }
    self
  end

  # First in, first out; its length wanders: the rate of arrival changes every tenth, the rate of departure does not.
  def queue(name, samples, wait: 0.15)
    rates = Array.new(16) { @random.rand }
    allocate(2 * samples / wait, rate: ->(time) { rates[((time + 0.3) * 10).floor] || 0 }, from: -0.3, span: 1.3) do |time|
      [name, time + wait * (0.5 + rates[((time + 0.3) * 10).floor].to_f)]
    end
  end

  # Goes up and down like a tide, +periods+ times, from a random phase.
  def tide(name, samples, periods)
    phase = @random.rand
    poisson(samples).times do
      at = @random.rand
      (-1..periods.ceil).each { |period| add(name, (period + phase + at * 0.5) / periods, (period + phase + 0.5 + at * 0.5) / periods) }
    end
    self
  end

  # Grows old, becomes garbage, and stays until a major GC.
  def sawtooth(name, samples)
    gap = 1.0 / @times.size
    allocate(samples / gap, from: -gap, span: 1 + gap) { |time| [name, time + 0.9 * gap] }
  end

  # The lines of a web application that does not leak: warm-up, caches, sessions, queues, and much that has few samples.
  def healthy(lines = 30)
    lines.times do |index|
      name = "h#{index}"
      size = 10 * 30**@random.rand
      case index % 10
      when 0 then leak(name, size, to: 0.15)
      when 1 then fills(name, size, 0.02 * 10**@random.rand)
      when 2 then turnover(name, size, 0.02 * 15**@random.rand)
      when 3 then step(name, size, @random.rand)
      when 4 then queue(name, size, wait: 0.05 + 0.2 * @random.rand)
      when 5 then tide(name, size, 1.5 + 6 * @random.rand)
      when 6 then sawtooth(name, size)
      when 7 then leak(name, size, to: 0.5 * @random.rand)
      when 8 then (1 + @random.rand(3)).times { step(name, size / 3, @random.rand) }
      else leak(name, 3 * @random.rand)
      end
      churn(name, 20 * @random.rand)
    end
    self
  end

  # Make a line one of malloc'd blocks, which a GC frees with their objects.
  def malloced(name, size = 4096)
    @malloc[name] = size
    self
  end

  def series = HeapSample::Series.new(profiles)

  def profiles
    names = @lines.keys | @passing.keys
    texts = ["", "String", "T_STRING", "(malloc)", "ruby", *names]
    frames = names.each_index.flat_map { |index| [5 + index, 5 + index, 0, 1, 0] }
    nodes = [0, 0, *names.each_index.flat_map { |index| [0, index] }]
    stacks = HeapSample::NodeStacks.new(texts, frames, nodes)
    @times.map do |time|
      HeapSample::Profile.new(meta: meta(time), texts: texts, stacks: stacks, rows: names.each_with_index.flat_map { |name, index| rows(name, index + 1, time) })
    end
  end

  private

  def allocate(samples, rate: nil, from: 0.0, to: from + 1.0, span: to - from)
    poisson(samples * span).times do
      time = from + span * @random.rand
      next if rate && @random.rand >= rate[time]

      add(*yield(time).insert(1, time))
    end
    self
  end

  def add(name, allocated, freed) = @lines[name] << [allocated, freed, noticed(allocated, freed)]

  # When the GC that frees it is.
  def noticed(allocated, freed)
    return Float::INFINITY if freed >= 1

    old = gc_count(allocated) + OLD
    at = gc_count(freed)
    at += 1 while at < @gcs.size && at >= old && !@major[at]
    @gcs[at] || Float::INFINITY
  end

  # GCs up to a time.
  def gc_count(time) = @gcs.bsearch_index { |gc| gc > time } || @gcs.size

  def rows(name, node, time)
    malloc = @malloc[name]
    mark = malloc ? time : @gcs[gc_count(time) - 1] || -1
    alive = @lines[name].select { |allocated, _, gone| allocated <= mark && gone > time }
    counts = alive.group_by { |allocated,| gc_count(allocated) }.transform_values(&:size)
    young = gc_count(mark)
    poisson(@passing[name] || 0).times { counts[(young - @random.rand(3)).clamp(0, young)] = counts.fetch(young, 0) + 1 } if @passing[name]
    counts.map { |at_gc, count| row(node, count, at_gc, malloc) }
  end

  def row(node, count, at_gc, malloc)
    size = malloc || SLOT
    weight = 1 / (1 - Math.exp(-size / INTERVAL.to_f))
    estimate = [count, count * weight, count * weight * size, count * weight * (weight - 1) * size * size]
    row = [node, malloc ? 3 : 1, malloc ? 3 : 2, malloc ? 0 : SLOT, 0, at_gc, malloc ? 4 : 0, malloc ? true : false, 0, *estimate]
    row.fill(0, row.size...HeapSample::Columns::COUNT).tap { row[HeapSample::Columns::RESIDENT] = estimate[2] }
  end

  STARTED = 1_767_225_600 * 1_000_000_000

  def meta(time)
    count = gc_count(time)
    majors = @major.first(count).count(true)
    last = @major.first(count).rindex(true)
    {"format" => 3, "process_id" => 1, "process_start" => "simulated", "session" => 1, "started_ns" => STARTED,
     "taken_ns" => STARTED + (time * HOURS * 3600e9).to_i, "gc" => {"count" => count, "major" => majors, "minor" => count - majors,
                                                                                        "majors" => Build.majors(majors_until(count), [SLOT]),
                                                                                        **(last ? {"last_major_ns" => STARTED + (@gcs[last] * HOURS * 3600e9).to_i, "last_major_gc" => last + 1} : {})},
     "heaps" => [{"slot_size" => SLOT}], "objects" => count * WORK, "reason" => "periodic",
     "settings" => {"interval" => INTERVAL, "first_interval" => INTERVAL, "interval_changes" => 0},
     "malloc" => {"state" => "on", "interval" => INTERVAL}, "account" => account(time)}
  end

  # The major GCs among the first GCs, and what each left alive.
  def majors_until(count)
    (0...count).select { |gc| @major[gc] }.map do |gc|
      slots, malloc = @sizes[gc] ||= alive(@gcs[gc])
      [gc + 1, STARTED + (@gcs[gc] * HOURS * 3600e9).to_i, (gc + 1) * WORK, slots, malloc + BASE]
    end
  end

  # Bytes of slots and of malloc that a major GC leaves alive.
  def alive(time)
    [false, true].map { |malloc| @lines.sum { |name, objects| @malloc.key?(name) == malloc ? objects.count { |allocated, _, gone| allocated <= time && gone > time } : 0 } * INTERVAL }
  end

  # What is there, garbage too; RSS stays at the most that there was.
  def account(time)
    live = Hash.new(0)
    @lines.each { |name, objects| live[@malloc.key?(name)] += objects.count { |allocated, _, gone| allocated <= time && gone > time } }
    @passing.each { |name, count| live[@malloc.key?(name)] += count }
    slots, malloc = live.values_at(false, true).map { |count| (count * INTERVAL).to_i }
    rss = @most = [@most, slots + malloc + BASE].max
    {"slots_live" => slots, "slots_free" => rss - slots - malloc - BASE, "malloc_live" => malloc, "malloc_waste" => 0, "stacks" => 0, "code_and_files" => BASE, "unattributed" => 0, "rss" => rss}
  end

  # Code and files, bytes.
  BASE = 20 << 20

  # When a request is.
  def moment
    loop do
      time = @random.rand
      return time if @traffic.nil? || @random.rand < @traffic[time]
    end
  end

  def exponential(mean) = -mean * Math.log(1 - @random.rand)

  def poisson(mean)
    return 0 if mean <= 0
    return [(mean + Math.sqrt(mean) * normal).round, 0].max if mean > 500

    limit = Math.exp(-mean)
    count = 0
    product = @random.rand
    while product > limit
      count += 1
      product *= @random.rand
    end
    count
  end

  def normal = Math.sqrt(-2 * Math.log(1 - @random.rand)) * Math.cos(2 * Math::PI * @random.rand)
end
