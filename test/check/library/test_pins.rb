# frozen_string_literal: true

# What pins the objects that hold free memory of heap pages, by a heap walk.

require_relative "../../testing"
require_relative "build"

class PinsTest < Test
  PINS_MIB = 1 << 20

  # As a file has one.
  def self.pin_of(name, kind, mib, path: "", line: 0, holder: ["(VM)"], made: 3, samples: 20, of: "Token")
    {"name" => name, "kind" => kind, "class" => of, "path" => path, "line" => line, "holder" => holder, "made_in" => "Parser#token", "made_path" => "/srv/app/parser.rb",
     "made_line" => made, "samples" => samples, "objects" => samples * 100, "free" => mib * PINS_MIB, "var" => (mib * PINS_MIB)**2 / samples}
  end

  IN_C = ["data of Native::Doc (doc in native.so)", "data"].freeze
  PINS_TOLD = [pin_of(*IN_C, 12, holder: ["(constants)", "Parser::DOCS", "[] of Array"]), pin_of(*IN_C, 4, holder: ["(constants)", "Parser::DOCS", "[] of Array"], made: 9),
               pin_of("C stack of Thread", "stack", 6, path: "/srv/app/worker.rb", line: 7), pin_of("{} key of Hash", "key", 5, holder: ["(constants)", "SEEN"]),
               pin_of("local all of Report#draw", "local", 3, path: "/srv/app/report.rb", line: 4), pin_of("(no pin any more)", "root", 2, holder: ["(no pin any more)"], of: "")].freeze

  def pins_profile(pins: PINS_TOLD, kept: {"refused" => nil, "objects" => 10, "ns" => 5_000_000, "hold_up_ns" => 1_000_000, "pins" => pins}, **meta)
    heaps = [{"slot_size" => 40, "total_slots" => 2_000_000, "live_slots" => 40_000, "live_at_start" => 10,
              "pages" => 800, "pinned_pages" => 100, "held_slots" => 1_200_000, "compact_bytes" => 30 * PINS_MIB}]
    build = Build.new("heaps" => heaps, "account" => {"rss" => 100 * PINS_MIB, "slots_free" => 50 * PINS_MIB}, **(kept ? {"kept" => kept} : {}), **meta)
    build.row(["/srv/app/parser.rb:3 Parser#token", "/srv/app/main.rb:1 <main>"], "Token", inuse: 40, at_gc: 3)
    profile = build.profile
    profile.table[0][HeapSample::Columns::HOLDS_FREE, 3] = [40.0 * PINS_MIB, (40.0 * PINS_MIB)**2 / 40, 32 * PINS_MIB]
    profile
  end

  LOOK_AT_PINS = {root: "/srv/app", width: 160}.freeze

  test "top --value holds_free says what pins: objects in C, machine stacks and where they stand, keys, variables" do
    text = pins_profile.top(value: :holds_free).text(**LOOK_AT_PINS).to_s
    assert(text.include?("Pinned part of it, which GC.compact cannot move: 32.0 MiB"), text)
    [/16\.0 MiB +\S.* an object in C +Token +parser\.rb:3 +data of Native::Doc \(doc in native\.so\)$/,
     /6\.0 MiB +\S.* a machine stack +Token +parser\.rb:3 +C stack of Thread worker\.rb:7$/,
     /5\.0 MiB +\S.* a Hash that compares by identity +Token +parser\.rb:3 +\{\} key of Hash \(SEEN\)$/,
     /3\.0 MiB +\S.* running code +Token +parser\.rb:3 +local all of Report#draw report\.rb:4$/,
     /2\.0 MiB +\S.* nothing now /].each { |line| assert(text.match?(line), "#{line.source}\n#{text}") }
  end

  test "so do the report, and why" do
    report = pins_profile.report
    text = report.text(**LOOK_AT_PINS).to_s
    assert(text.include?("C stack of Thread worker.rb:7"), text)
    pins = report.to_h[:heap_pages][:pins]
    assert_equal(["an object in C", "data of Native::Doc (doc in native.so)", 12 * PINS_MIB, "/srv/app/parser.rb"], [*pins.first.values_at(:by, :name, :bytes), pins.first[:made][:path]])
    assert_equal(6, pins_profile.top(value: :holds_free).to_h[:pins].size)
    assert_nil(pins_profile.top.to_h[:pins])
  end

  test "pins have intervals, and add up" do
    pins = pins_profile.info.walk.pins
    assert_equal(32 * PINS_MIB, pins.sum { |pin| pin.estimate.space })
    low, high = pins.first.estimate.space_interval
    assert(low < 12 * PINS_MIB && high > 12 * PINS_MIB, [low, high].inspect)
    assert_equal([16 * PINS_MIB, 40], HeapSample::Pins.by_reference(pins).first.estimate.then { |estimate| [estimate.space, estimate.samples] })
  end

  test "without a walk a report says how to learn what pins; where little is pinned it says nothing" do
    text = pins_profile(kept: nil).top(value: :holds_free).text(**LOOK_AT_PINS).to_s
    assert(text.include?("To see what pins 32.0 MiB of it, run a heap walk: GC.sample_profile(why: true), or heapsample top --value holds_free PID."), text)
    refused = pins_profile(kept: {"refused" => "a GC was running"})
    assert(refused.top(value: :holds_free).text(**LOOK_AT_PINS).to_s.include?("run a heap walk"))
    little = pins_profile
    little.table[0][HeapSample::Columns::HOLDS_FREE, 3] = [40.0 * PINS_MIB, 1e12, PINS_MIB]
    refute(little.top(value: :holds_free).text(**LOOK_AT_PINS).to_s.match?(/pinned by|walk over/))
  end

  test "of a part of a profile nobody says what pins; what is damaged is left out" do
    refute(pins_profile.filter(class: "Token").top(value: :holds_free).text(**LOOK_AT_PINS).to_s.include?("machine stack"))
    damaged = [3, {"name" => "x"}, {"name" => 4, "kind" => nil, "samples" => 1, "objects" => 1, "free" => -1, "var" => 0},
               {"samples" => 2, "objects" => 20, "free" => 8 * PINS_MIB, "var" => 1}]
    assert_equal([["(others)", 8 * PINS_MIB]], pins_profile(pins: damaged).info.walk.pins.map { |pin| [pin.name, pin.estimate.space] })
  end
end
