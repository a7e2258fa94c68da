# frozen_string_literal: true

# The words of all reports: what may be garbage, what a figure is of, and in which unit.

require "json"
require_relative "../../testing"
require_relative "counted_series"

class WordsTest < Test
  include CountedSeries
  include HeapSample

  OLD = "/srv/app/old.rb:1 Old#keep"
  NEW = "/srv/app/new.rb:2 New#make"

  # At GC 100; the last major one was GC 60, 4 min before, unless +gc+ says otherwise.
  def awaiting_build(later: 0, **gc)
    taken = Build::STARTED + (10 + later) * Build::MINUTE
    build = Build.new("taken_ns" => taken,
              "gc" => {"count" => 100 + 10 * later, "minor" => 80, "major" => 20, "last_minor_ns" => taken - 1_000_000_000,
                       "last_major_ns" => taken - 4 * Build::MINUTE, "last_major_gc" => 60, **gc.transform_keys(&:to_s)})
    build.row([NEW, MAIN], "Array", inuse: 30, at_gc: 105) if later > 0
    build.row([OLD, MAIN], "String", inuse: 20, at_gc: 10).row([NEW, MAIN], "Array", inuse: 60, at_gc: 99)
  end

  AWAITS = /The last major GC was 4 min 0 s before the profile\. (\S+ \S+) \((\d+)%\) of (?:the \w+ memory) was allocated since, and may be garbage/

  test "garbage that no major GC has examined is called so in every report, with how long ago one was" do
    first, second, third = [0, 1, 2].map { |later| awaiting_build(later: later).profile }
    [first.report, first.top, first.top(by: :class), first.churn, first.generations, first.tree, first.tree(direction: :callers), (second - first).report,
     Retained.new(first, second, third)].each do |analysis|
      assert(analysis.to_s.tr("\n", " ").match?(AWAITS), "#{analysis.class}: #{analysis}")
    end
    text = first.report.text(root: "/srv/app").to_s.tr("\n", " ")
    assert_equal(["30.0 MiB", "75"], text.match(AWAITS).captures)
    assert(text.match?(/The largest: new\.rb:2 `New#make` holds .* No major GC has examined 100% of it, so it may be garbage/), text)
    assert_equal([30, 0], first.top.map { |row| (row.to_h[:awaits_major_gc_bytes] / 2**20).round })
  end

  test "what major GCs have examined is retained, and nothing is said" do
    text = awaiting_build(last_major_gc: 100, last_minor_ns: nil).profile.report.text(root: "/srv/app").to_s
    assert(text.include?("`New#make` retains") && !text.include?("examined"), text)
  end

  test "no major GC at all; a file without the count; one of several processes" do
    none = awaiting_build(major: 0, last_major_ns: nil, last_major_gc: nil).profile.report.to_s
    assert(none.include?("No major GC has run in this process yet") && none.include?("`New#make` holds"), none)
    old = awaiting_build(last_major_gc: nil).profile.top.to_s.tr("\n", " ")
    assert(old.include?("The last major GC was 4 min 0 s before the profile. The part of the live memory that was allocated since may be garbage"), old)
    refute(awaiting_build(last_major_gc: nil, last_major_ns: Build::STARTED + 10 * Build::MINUTE).profile.top.to_s.include?("garbage"))
  end

  test "a figure and its interval have one unit" do
    gib = 1 << 30
    assert_equal(["1.2 GiB", "±0.1 GiB"], Estimate.new(400, 1e6, 1.2 * gib, (0.05 * gib)**2).then { |one| [Layout.new.size(one), Layout.new.interval(one)] })
    assert_equal(["2.6 GiB", "±0.03 GiB"], Estimate.new(40_000, 1e6, 2.6 * gib, (0.0158 * gib)**2).then { |one| [Layout.new.size(one), Layout.new.interval(one)] })
    assert_equal(["+0.9 MiB", "-0.1 – +1.6 MiB"], Layout.new.figure(900 << 10, [-100 << 10, 1600 << 10], sign: true))
    random = Random.new(3)
    2000.times do
      estimate = Estimate.new(random.rand(1..200), random.rand * 1e6, 2**random.rand(10.0..40.0), 2**random.rand(20.0..70.0))
      size, interval = Layout.new.size(estimate), Layout.new.interval(estimate)
      flunk("#{size} #{interval}") unless interval == "exact" || size[/[A-Z]\w*$/i] == interval[/[A-Z]\w*$/i]
    end
  end

  test "a class of a row with malloc is one of slots only if slots are most of it" do
    later = Build.new("taken_ns" => Build::STARTED + 20 * Build::MINUTE, "gc" => {"count" => 110, "major" => 20, "last_major_gc" => 110})
                 .row([NEW], "Array", inuse: 6, at_gc: 105).blocks(["#{RUBY} thread_create", NEW], "ruby", 1 << 20, at_gc: 105, inuse: 40)
    earlier = Build.new("malloc" => {"state" => "on", "interval" => 512 * 1024, "interval_changes" => 0})
    text = (later.profile - earlier.profile).report.to_s.tr("\n", " ")
    assert(text.include?("mostly blocks of malloc") && !text.include?("mostly `Array`"), text)
    text = later.profile.report.to_s.tr("\n", " ")
    assert(text.match?(/retains .* blocks of malloc/) && !text.include?("mostly `Array`"), text)
  end

  test "the VM's own memory, YJIT's and the sampler's are not the largest of anything" do
    later = Build.new("taken_ns" => Build::STARTED + 20 * Build::MINUTE, "gc" => {"count" => 110, "major" => 20, "last_major_gc" => 110})
    ["(GC)", "(YJIT)", "(heap sampler)"].each { |name| later.blocks(["#{RUBY} rb_gc_mark", ":0 #{name}"], "ruby", 1 << 20, at_gc: 105, inuse: 90) }
    later.blocks(["#{RUBY} str_buf_new", NEW], "ruby", 1 << 20, at_gc: 105, inuse: 20)
    earlier = Build.new("malloc" => {"state" => "on", "interval" => 512 * 1024, "interval_changes" => 0})
    {(later.profile - earlier.profile).report => /The largest growth: (\S+)/, later.profile.report => /The largest: (\S+)/}.each do |report, largest|
      assert(report.to_s[largest, 1].end_with?("new.rb:2"), report.to_s)
    end
  end

  test "the VM's own memory is no leak; one unit" do
    found = series(25) do |minute|
      rows = lambda do |build|
        (1..minute).each do |step|
          build.blocks(["#{RUBY} gc_mark_stack", ":0 (GC)"], "ruby", 1 << 20, at_gc: (step * EACH) - 5, inuse: 40)
               .blocks(["#{RUBY} str_buf_new", "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack.rb:9 Rack#call", NEW], "ruby", 50_000, at_gc: (step * EACH) - 5, inuse: 30)
        end
      end
      {malloc: 30 + minute, rows: rows}
    end.diagnosis.text(root: "/srv/app")
    lines = found.findings.flat_map(&:lines)
    assert_equal([["rack-3.1.7/lib/rack.rb:9 Rack#call", "/srv/app/new.rb:2 New#make"]], lines.map { |line| [line.place, line.app_line].map { |place| Layout.new.place(place) } })
    text = found.to_s
    refute(text.include?("(GC)"), text)
    figures = text[/^ *(\+.*) new\.rb:2 New#make$/, 1].split(/ {2,}/).first(2)
    assert_equal(1, figures.join(" ").scan(/[KMG]iB/).uniq.size, text)
  end
end
