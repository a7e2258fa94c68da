# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"

class ReportTest < Test
  include Builds
  include HeapSample

  ROOT = "/srv/app"

  test "the report by line, word for word" do
    assert_equal(<<~TEXT, sample_build.profile.report.text(root: ROOT).to_s)
      Heap sample of process 4711, ruby 3.4.5 (2025-07-16 revision 20cda200d3) [x86_64-linux]
      taken 2026-01-01 00:10:00 UTC, 10 min 0 s after sampling started, one sample per 512 KiB allocated
      malloc: not sampled: start Ruby with --heap-sample=malloc=on to see it
      100 GCs: 80 minor, 20 major (the last 45.0 s before)
      114 live samples, the sampler itself uses 2.0 MiB

      Live memory (objects that survived the last GC), by line: 54.0 MiB ±10.2 MiB in 1,346,819 objects, 108 samples
             bytes   95% interval    objects  samples  share    age  class          line
       1  50.0 MiB       ±9.8 MiB  1,310,770      100  92.6%   77.2  String 96% +1  models/x.rb:12 Foo#bar
      ~2   3.5 MiB  1.5 – 7.0 MiB     22,941        7   6.5%    1.0  Ticket         model-7.1.2/lib/base.rb:100 Model::Base.n…
          ← main.rb:3 <main>
      ~3   0.5 MiB  0.0 – 2.6 MiB     13,108        1   0.9%  100.0  Object         (no stack)
      ~ fewer than 10 samples: weak

      By class:
             bytes   95% interval    objects  samples  share    age  class
       1  48.0 MiB       ±9.7 MiB  1,258,339       96  88.9%   80.0  String
      ~2   3.5 MiB  1.5 – 7.0 MiB     22,941        7   6.5%    1.0  Ticket
      ~3   2.0 MiB  0.6 – 5.0 MiB     52,431        4   3.7%   10.0  Array
      ~4   0.5 MiB  0.0 – 2.6 MiB     13,108        1   0.9%  100.0  Object

      Young (allocated since the last GC, not in the tables): 3.0 MiB (1.2 – 6.4 MiB) in 19,664 objects, 6 samples
      (before start): about 4.0 MiB of slots still allocated, of 19.1 MiB when sampling started

      Allocated since sampling started, by line: 109.0 MiB ±14.5 MiB in 2,729,683 objects, 218 samples
              bytes   95% interval    objects  samples  share  freed  95% interval  lifetime  line
       1  102.0 MiB      ±14.0 MiB  2,673,971      204  93.6%  51.0%  44.2 – 57.8%       2.0  models/x.rb:12 Foo#bar
       2    5.0 MiB  2.5 – 9.0 MiB     32,773       10   4.6%   0.0%   0.0 – 27.8%         -  …/lib/base.rb:100 Model::Base.n…
          ← main.rb:3 <main>
      ~3    1.5 MiB  0.3 – 4.2 MiB      9,832        3   1.4%   0.0%   0.0 – 56.1%         -  main.rb:3 <main>
      ~4    0.5 MiB  0.0 – 2.6 MiB     13,108        1   0.5%   0.0%   0.0 – 79.3%         -  (no stack)

      The largest: models/x.rb:12 `Foo#bar` retains 50.0 MiB ±9.8 MiB in 1.3 million objects, mostly `String`s, 92.6% of live
      memory.
    TEXT
  end

  test "every grouping has its report" do
    Groups::BY.each do |by|
      text = sample_build.profile.report(by: by).text(root: ROOT).to_s
      assert(text.include?("by #{by}: 54.0 MiB ±10.2 MiB"), text)
      assert(text.include?("\n\nThe largest: "), text)
      assert_equal(by != :class, text.include?("\nBy class:\n"))
    end
  end

  test "top bounds the tables and says what is left out" do
    text = sample_build.profile.report(top: 1).text(root: ROOT).to_s
    assert(text.include?("and 2 more\n"))
    refute(text.include?("~2 "))
  end

  test "no line of a table is wider than asked for, if that can be" do
    sample_build.profile.report.text(width: 118, root: ROOT).to_s.lines.grep(/^[ ~]*\d+  /).each do |line|
      assert(line.chomp.length <= 118, line)
    end
  end

  test "options that make no sense are ArgumentErrors" do
    profile = sample_build.profile
    assert_error(ArgumentError, /top must be a positive Integer, not 0/) { profile.report(top: 0).to_s }
    assert_error(ArgumentError, /width must be a positive Integer, not "x"/) { profile.report.text(width: "x").to_s }
  end

  test "drops are a warning" do
    text = sample_build("drops" => {"samples" => 1200, "stacks" => 3, "moves" => 0}).profile.report.to_s
    assert(text.include?("Warning: the sampler's tables were full, so 1,200 samples, 3 stacks were dropped."), text)
    refute(sample_build.profile.report.to_s.include?("Warning"))
  end

  test "an interval that changed is told" do
    text = sample_build("settings" => {"interval" => 1024**2, "first_interval" => 512 * 1024, "interval_changes" => 1}).profile.report.to_s
    assert(text.include?("one sample per 1 MiB allocated (512 KiB at first)"), text)
  end

  test "an exact profile has no intervals and no weak rows" do
    build = Build.new(interval: 1)
    build.row(["a.rb:1 A#a"], "String", inuse: 3, at_gc: 1)
    text = build.profile.report.to_s
    assert(text.include?("120 B (exact) in 3 objects"), text)
    assert(text.include?("1  120 B         exact"), text)
    refute(text.include?("~"), text)
  end

  test "before the first mark the tables are of what is young" do
    build = Build.new("gc" => {"count" => 1, "minor" => 1, "major" => 0, "last_major_ns" => nil})
    build.row(["a.rb:1 A#a"], "String", young: 30, at_gc: 1)
    text = build.profile.report.to_s
    assert(text.include?("Young memory (allocated since the last GC, so it may be garbage), by line: 15.0 MiB"), text)
    assert(text.include?("0 major (none yet)"), text)
    assert(text.end_with?("The largest: a.rb:1 `A#a` allocated 15.0 MiB ±5.5 MiB in 393,231 `String`s, 100.0% of young memory.\n"), text)
  end

  test "an empty profile says so" do
    text = Build.new.profile.report.to_s
    assert(text.include?("by line: nothing sampled"), text)
    assert(text.end_with?("No memory allocated since sampling started is known to be live.\n"), text)
  end

  test "a profile without meta data has a report" do
    raw = sample_build.raw.merge(meta: {})
    assert(Profile.from_raw(raw).report.to_s.start_with?("Heap sample\n\nLive memory"))
  end

  test "what lived before the start is never more than it was then" do
    heaps = [{"slot_size" => 1024, "live_slots" => 10**6, "live_at_start" => 10}]
    text = sample_build("heaps" => heaps).profile.report.to_s
    assert(text.include?("(before start): about 10.0 KiB of"), text)
  end

  test "a weak largest row is not read with confidence" do
    build = Build.new
    build.row(["a.rb:1 A#a"], "String", inuse: 2, at_gc: 1)
    assert(build.profile.report.to_s.tr("\n", " ").end_with?("Too few samples to rely on: sample longer, or at a smaller interval. "))
  end
end
