# frozen_string_literal: true

require_relative "../../testing"
require_relative "builds"
require_relative "series_simulator"

class AnalysisTest < Test
  include Builds
  extend Builds
  include HeapSample

  LATER_GC = {"taken_ns" => Build::STARTED + 20 * Build::MINUTE, "gc" => {"count" => 110, "minor" => 85, "major" => 25}}.transform_keys(&:to_sym).freeze

  # Name => how it is made.
  def self.analyses
    profile = malloc_build.profile
    later = malloc_build(**LATER_GC).row(["/srv/app/leak.rb:7 Leak#now", MAIN], "String", inuse: 30, at_gc: 105).profile
    last = malloc_build(**LATER_GC, taken_ns: Build::STARTED + 30 * Build::MINUTE).row(["/srv/app/leak.rb:7 Leak#now", MAIN], "String", inuse: 30, at_gc: 105).profile
    series = SeriesSimulator.new(seed: 1).leak("/srv/app/leak.rb", 200).churn("/srv/app/work.rb", 100).series
    held = held_build.profile
    {
      **Reports.public_instance_methods(false).to_h { |name| [name, -> { (name == :why ? held : profile).public_send(name) }] },
      growth: -> { (later - profile).report }, retained: -> { Retained.new(profile, later, last) },
      diagnosis: -> { Diagnosis.of(series) }, process_diagnosis: -> { series.diagnosis }, line: -> { series.line("leak.rb:1") }
    }
  end

  # Marks every text with its style.
  class Marks
    HeapSample::Layout::STYLES.each { |name| define_method(name) { |text| "<#{name}>#{text}" } }
  end

  analyses.each do |name, make|
    test "#{name}: width, root and style are the text's: one analysis has many, with the same figures" do
      look = {width: 70, root: "/srv/app", style: Marks.new}
      analysis = make.call
      figures = analysis.to_h
      plain = analysis.to_s
      assert_equal(make.call.text(**look).to_s, analysis.text(**look).to_s)
      assert_equal([plain, figures], [analysis.to_s, analysis.to_h])
      assert(analysis.text(width: 60).to_s.lines(chomp: true).all? { |line| line.length <= 60 }, analysis.text(width: 60).to_s)
      assert(analysis.text(**look).to_s.include?("<title>") || name == :about, analysis.text(**look).to_s)
      assert_error(ArgumentError, /unknown keyword: :colour/) { analysis.text(colour: 1) }
      assert_error(ArgumentError, /width must be a positive Integer/) { analysis.text(width: 0) }
    end

    test "#{name}: the names of its data are Symbols, for patterns too" do
      figures = make.call.to_h
      assert(figures.keys.all?(Symbol), figures.keys.inspect)
      first = figures.keys.first
      assert(make.call.deconstruct_keys([first])[first] == figures[first], "no pattern")
      assert_equal(figures.keys, make.call.deconstruct_keys(nil).keys)
    end
  end

  test "rows of a top and of what is retained are data" do
    entry = sample_build.profile.top(by: :class).first
    assert((entry in {rank: 1, name: "String", samples: 96, weak: false}), entry.to_h.inspect)
    assert_equal(sample_build.profile.top(by: :class).to_h[:rows].first, entry.to_h)
  end

  test "a profile, a growth, an estimate and a place are one line each" do
    profile = sample_build.profile
    assert_equal("process 4711 at 2026-01-01 00:10:00 UTC: 54.0 MiB ±10.2 MiB in 1,346,819 objects, 108 samples", profile.to_s)
    assert_equal("process 4711 at 2026-01-01 00:10:00 UTC (class Ticket): 3.5 MiB (1.5 – 7.0 MiB) in 22,941 objects, 7 samples", profile.filter(class: "Ticket").to_s)
    growth = sample_build(**LATER_GC).row(["y.rb:1 Y#y"], "String", inuse: 30, at_gc: 105).profile - profile
    assert(/\A\+15\.0 MiB \(\+.* MiB\) in 393,\d+ objects over 10 min 0 s, 10 GCs\z/.match?(growth.to_s), growth.to_s)
    assert_equal(profile.to_s.partition(": ").last, profile.groups(:class).total.inuse.to_s)
    assert_equal("nothing changed over 0.0 s, 0 GCs", (Build.new.profile - Build.new.profile).to_s)
    assert_equal("rack-3.1.7/lib/rack.rb:3 Rack.x", Place.new("/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack.rb", 3, "Rack.x").to_s)
  end
end
