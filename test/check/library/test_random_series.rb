# frozen_string_literal: true

# Random series, whole and damaged: whatever is in the profiles, the diagnosis has a state, a text, Markdown and JSON.

require "json"
require_relative "../../testing"
require_relative "counted_series"

class RandomSeriesTest < Test
  include CountedSeries
  include HeapSample

  SERIES = SLOW ? 5000 : 100
  COUNTS = [1, 2, 3, 5, 12, 13, 14, 17, 20, 30, 40, 64].freeze
  FORCED = {"limit_ppm" => 0, "gcs" => 0, "gc_ns" => 0, "walks" => 0, "walk_ns" => 0, "longest_stop_ns" => 0, "last" => "refused"}.freeze
  STACKS = [LEAK, OTHER, CHURN, [], ["/srv/\e]0;x.rb:0 `|\n"], ["(no GVL):0 (no GVL)"]].freeze

  # A series by a seed. Each kind of damage is in some series alone, and there in some or all profiles.
  class Damaged
    include CountedSeries

    def initialize(seed)
      @seed = seed
      @random = Random.new(seed)
      @most = [0, 0.15, 0.4, 1].sample(random: @random)
      @damaged = {}
      @ring = []
      @at, @gc, @objects = Build::STARTED, 0, 0
      @slots, @slope, @noise = 20 * MIB, [0, MIB, MIB, -MIB / 2, 10 * MIB].sample(random: @random), [0, MIB, 10 * MIB].sample(random: @random)
    end

    def series = HeapSample::Series.new(Array.new(COUNTS.sample(random: @random)) { |index| work(index + 1).profile })

    private

    def one_of(*values) = values.sample(random: @random)

    # The first, or where this is damaged one of all.
    def maybe(what, *values)
      @damaged[what] = @random.rand < @most unless @damaged.key?(what)
      @damaged[what] ? one_of(*values) : values.first
    end

    def work(minute)
      @at += (maybe(:step, 60, 60, 1, 0.01, 3600, 0) * SECOND).to_i + 1 - maybe(:set_back, 0, 0, 0, 0, 0, 600 * SECOND)
      @objects += maybe(:objects, WORK, WORK, 0, 1, 50 * WORK)
      @gc += maybe(:gcs, EACH, EACH, 1, 0)
      @slots = [@slots + @slope, 0].max
      major
      build = Build.new(interval: UNIT, majors: maybe(:ring, @ring.dup, @ring.dup, @ring.last(32), @ring.last(1), [], nil), **meta(minute))
      maybe(:rows, [LEAK], *STACKS.map { |stack| [stack] }).each { |stack| kept(build, stack, minute, 16, class_name: maybe(:class, "String", "", "Thread", "\e[31m", "#<Class:0x0>")) }
      build.row(one_of(*STACKS), "Array", at_gc: maybe(:at_gc, 0, nil, @gc, @gc + 9), inuse: maybe(:inuse, 1, 0, 1000), young: 3)
      build.blocks(["!/usr/lib/libz.so.1 inflate", APP], maybe(:library, "libz.so.1", "", "ruby"), maybe(:size, 4096, 1, 2**40), at_gc: @random.rand(@gc + 1), inuse: 9, resident: 1)
    end

    # In what the GC lists all goes on; what else there would be, Major.list refuses.
    def major
      last = @ring.last || [-1, 0, 0]
      huge = maybe(:huge, 1, 1, 1000, 10**6)
      at = [@at - SECOND, 0].max
      return unless @gc > last[0] && at >= last[1] && @objects >= last[2]

      @ring << [@gc, at, @objects, (@slots + @random.rand(@noise + 1)) * huge, maybe(:malloc, 30 * MIB * huge, 0, nil)]
    end

    def meta(minute)
      {"process_id" => maybe(:pid, 1, nil), "process_start" => "p#{@seed}", "title" => maybe(:title, "puma: worker 1", nil, "\e[1m`|" * 3), "host" => maybe(:host, "h", nil),
       "directory" => maybe(:directory, "/srv/app", nil, "/"), "objects" => maybe(:count, @objects, nil), "reason" => maybe(:reason, "periodic", "exit", "asked", nil, 5), "taken_ns" => @at,
       "started_ns" => maybe(:started, Build::STARTED, nil, 0, @at), "account" => accounted(minute),
       "alive" => maybe(:alive, alive(5, 0), alive(5, minute), alive(minute * 20, nil), nil, {}, {"threads" => 5}),
       "forced" => maybe(:forced, nil, {}, {**FORCED, "of_ns" => one_of(0, 60_000 * SECOND, 2**62)}),
       "gc" => {"count" => @gc, "major" => minute, "minor" => @gc, "last_major_gc" => maybe(:last_major, @gc, nil, 0, @gc + 5), "last_major_ns" => @at - SECOND}}
    end

    def accounted(minute)
      parts = maybe(:account, account(20, 30, 0, 4), account(20, 30, minute, 4), account(1, 1, 0, 10 * minute), nil, {}, {"rss" => 0}, {"rss" => "x"})
      parts&.merge("limit_bytes" => maybe(:limit, 2 << 30, nil, 0, 2**62), "limit_used" => maybe(:used, 1 << 30, nil, 0, 2**61))
    end
  end

  test "random series have an answer in each form, without a name that is not escaped and a figure that is none" do
    states = (1..SERIES).map do |seed|
      found = Diagnosis.new([Damaged.new(seed).series, *([Damaged.new(seed + 1_000_000).series] if (seed % 4).zero?)])
      texts = [*[40, 200].map { |width| found.text(width: width).to_s }, found.text.to_markdown, JSON.generate(found.to_h), JSON.generate(found.text.to_h), found.inspect, *found.text.lines]
      texts.each { |text| refute(text.match?(/NaN|Inf|\e| -[\d.]+ (?:s|min|h|d)\b/), "seed #{seed}: #{text}") }
      found.state
    rescue StandardError => e
      raise e, "seed #{seed}: #{e.message}", e.backtrace
    end
    note states.tally.to_s
    assert((%i[likely grows unknown] - states).empty?, states.tally.inspect)
  end

  test "a profile of several processes is no series, and an empty series is none" do
    merged = Build.new("process_start" => nil).profile
    assert_error(ArgumentError, /does not contain its process and time/) { Series.new([merged]) }
    assert_error(ArgumentError, /at least one profile/) { Series.new([]) }
  end
end
