# frozen_string_literal: true

require "json"
require_relative "../../testing"
require_relative "build"

class LineHistoryTest < Test
  include HeapSample

  KEEPER = "/srv/app/models/order.rb:12 Order#keep"
  GEM = "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack.rb:9 Rack#call"

  # Profiles a minute apart: the line keeps 10 samples each, a gem that it calls 5; half as many more are freed.  Another line makes as much.
  def series_of(count, other: "/srv/app/models/other.rb:7 Other#make", directory: "/srv/app")
    Series.new(Array.new(count) do |index|
      build = Build.new("directory" => directory, "taken_ns" => Build::STARTED + (10 + index) * Build::MINUTE, "gc" => {"count" => 100 + 10 * index, "major" => 9, "last_major_gc" => 1000})
      index.times do |step|
        build.row([KEEPER], "String", inuse: 10, freed: 5, alloc: 15, at_gc: 101 + 10 * step).row([GEM, KEEPER], "Array", inuse: 5, at_gc: 101 + 10 * step)
      end
      build.row([other], "String", inuse: 40, at_gc: 1).profile
    end)
  end

  MIB = 1 << 20

  test "a line over time: what it and the gems that it calls have live, allocated and freed" do
    history = series_of(5).line("models/order.rb:12")
    assert_equal([0, 15, 30, 45, 60], history.moments.map { |moment| moment.inuse.samples })
    assert_equal([0, 20, 40, 60, 80], history.moments.map { |moment| moment.allocated.samples })
    assert_equal([0, 5, 10, 15, 20], history.moments.map { |moment| moment.freed.samples })
    assert_equal([60, "/srv/app/models/order.rb", 12], [history.growth.samples, history.place.path, history.place.line])
    assert_close(0.75, history.still, 1e-3)
    assert_equal(history.place, series_of(5).line("order.rb:12").place)
    assert_error(LineHistory::NotFound, /no memory was allocated at order.rb:12/) { series_of(3).line("order.rb:12", kind: :malloc) }
  end

  test "as a text of 80 columns, with a plot; as data" do
    history = series_of(5).line("order.rb:12")
    assert_equal(<<~TEXT, history.text(width: 80).to_s)
      models/order.rb:12
      process 4711, 5 profiles, 2026-01-01 00:10:00 – 00:14:00 UTC

      live ▁▂▄▇█  0 B – 30.0 MiB

          time      live    95% interval  objects  allocated    freed
      00:10:00       0 B               -        0          -        -
      00:11:00   7.5 MiB  4.3 – 12.2 MiB  196,616   10.0 MiB  2.5 MiB  ██▌
      00:12:00  15.0 MiB        ±5.5 MiB  393,231   10.0 MiB  2.5 MiB  █████
      00:13:00  22.5 MiB        ±6.7 MiB  589,847   10.0 MiB  2.5 MiB  ███████▌
      00:14:00  30.0 MiB        ±7.7 MiB  786,462   10.0 MiB  2.5 MiB  ██████████

      Live now: 30.0 MiB ±7.7 MiB in 786,462 objects, 60 samples. Since the first
      profile: +30.0 MiB (+22.8 – +38.5 MiB) in 4 min 0 s. Of the memory allocated
      there since sampling started, 75.0% is not freed.
    TEXT
    data = JSON.parse(JSON.generate(history.to_h), symbolize_names: true)
    assert_close(30 * MIB, data[:profiles].last[:inuse][:bytes], 1e-3)
    assert_close(30 * MIB, data[:growth][:bytes], 1e-3)
    assert_equal(["/srv/app/models/order.rb", 12, 5], [*data.values_at(:path, :line), data[:profiles].size])
    assert_equal(1, history.inspect.lines.size)
  end

  test "of many profiles some are shown, evenly; the plot is of all" do
    lines = series_of(60).line("order.rb:12", top: 4).text(width: 80).to_s.lines(chomp: true)
    assert_equal(%w[00:10:00 00:29:00 00:49:00 01:09:00], lines.filter_map { |line| line[/\A[ ~]*(\d\d:\d\d:\d\d)/, 1] })
    assert(lines.include?("56 profiles in between are not shown"), lines.join("\n"))
    assert_equal([58, true], [lines.find { |line| line.start_with?("live") }.count(Plot::BARS), lines.all? { |line| line.length <= 80 }])
  end

  test "a line that is not there, or in several files: the message names the nearest" do
    several = series_of(3, other: "/srv/app/old/order.rb:12 Order#keep")
    assert_error(LineHistory::NotFound, %r{order\.rb:12 matches several files: .*models/order\.rb:12.*old/order\.rb:12.*; give more of the path}) { several.line("order.rb:12") }
    assert_equal("/srv/app/old/order.rb", several.line("old/order.rb:12").place.path)
    assert_error(LineHistory::NotFound, /no memory was allocated at order\.rb:14; the nearest lines are models\/order\.rb:12$/) { series_of(3).line("order.rb:14") }
    assert_error(LineHistory::NotFound, /no memory was allocated at nosuch\.rb:1; the largest lines are /) { series_of(3).line("nosuch.rb:1") }
    assert_error(LineHistory::NotFound, /no memory was allocated at der.rb:12/) { series_of(3).line("der.rb:12") }
    assert_error(ArgumentError, /a line must be FILE:LINE/) { series_of(3).line("order.rb") }
  end
end
