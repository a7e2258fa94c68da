# frozen_string_literal: true

require "json"
require_relative "../../testing"
require_relative "builds"

class CameByTest < Test
  include Builds
  include HeapSample

  DEEP = "!/usr/lib/x86_64-linux-gnu/libyaml.so"
  GEM_LINE = "/usr/lib/ruby/gems/3.4.0/gems/psych-5.1.2/lib/psych.rb:9 Psych.parse"
  CONTROLLER = "/srv/app/app/controllers/settings_controller.rb:12 SettingsController#show"

  # A line of a gem that 12 native frames lead to, and the application by 20 frames of another gem.
  def deep_build(**meta)
    rack = (1..20).map { |n| "/usr/lib/ruby/gems/3.4.0/gems/rack-3.1.7/lib/rack#{n}.rb:#{n} Rack#call#{n}" }
    native = (1..12).map { |n| "#{DEEP} yaml_#{n}" }
    Build.new(**meta)
         .malloc(["!/usr/lib/libc.so.6 malloc", *native, "#{GEM_LINE[0..-13]} Psych::Parser#_native_parse", GEM_LINE, *rack.first(9), CONTROLLER, *rack.last(11)],
                 "libyaml.so", 5000, inuse: 60)
         .row([GEM_LINE, "/srv/app/lib/other.rb:1 Other#rare"], "String", inuse: 5, at_gc: 1)
         .row([GEM_LINE, CONTROLLER, *rack], "String", inuse: 50, at_gc: 1)
  end

  test "every analysis shows the whole stack of each row that has a name" do
    first, later, last = deep_build, deep_build("taken_ns" => Build::STARTED + 20 * Build::MINUTE, "gc" => {"count" => 110}),
  deep_build("taken_ns" => Build::STARTED + 30 * Build::MINUTE, "gc" => {"count" => 120})
    [later, last].each { |build| build.blocks(["#{DEEP} yaml_new", GEM_LINE, CONTROLLER, MAIN], "libyaml.so", 100_000, at_gc: 105, inuse: 90) }
    later.meta["format"] = last.meta["format"] = first.meta["format"] = 3
    first, later, last = [first, later, last].map(&:profile)
    all = ["yaml_12 (libyaml.so)", "psych.rb:9 Psych::Parser#_native_parse", "psych.rb:9 Psych.parse", "rack9.rb:9", "settings_controller.rb:12", "rack20.rb:20"]
    short = ["yaml_new (libyaml.so)", "psych.rb:9 Psych.parse", "settings_controller.rb:12", "main.rb:3 <main>"]
    {first.top => all, first.top(by: :class) => all, first.top(by: :library) => all, first.report => all,
     first.generations(age: 0..) => ["psych.rb:9", "settings_controller.rb:12", "rack20.rb:20"],
     (later - first).report => short, Retained.new(first, later, last) => short}.each do |analysis, frames|
      text = analysis.text(stacks: true).to_s
      missing = frames.reject { |frame| text.include?(frame) }
      assert_equal([analysis.class, []], [analysis.class, missing])
      assert(JSON.generate(analysis.to_h(stacks: true)).include?("settings_controller.rb:12"), analysis.class.name)
      refute(analysis.to_s.include?("was allocated by"))
    end
  end

  test "a stack in short: the native code that wanted the memory, the line that called it, the application's" do
    frames = deep_build.profile.rows[0].stack
    assert_equal(["  yaml_1 (libyaml.so)", "  yaml_2 (libyaml.so)", "  yaml_3 (libyaml.so)", "  … 9 frames",
                  "  psych-5.1.2/lib/psych.rb:9 Psych::Parser#_native_parse", "  psych-5.1.2/lib/psych.rb:9 Psych.parse", "  rack-3.1.7/lib/rack1.rb:1 Rack#call1",
                  "  rack-3.1.7/lib/rack2.rb:2 Rack#call2", "  … 7 frames", "  app/controllers/settings_controller.rb:12 SettingsController#show", "  … 11 frames"],
                 StackText.new(frames, Layout.new(root: "/srv/app")).lines.drop(1))
    assert_equal(frames.size, StackText.new(frames, Layout.new(stacks: true)).lines.size)
  end

  test "from the root down a tree goes on in native code, to the function that wanted the memory; not from the line up" do
    down, up = deep_build.profile.then { |profile| [profile.tree.text(root: "/srv/app").to_s, profile.tree(direction: :callers).to_s] }
    assert(down.include?("yaml_1 (libyaml.so)") && down.include?("settings_controller.rb:12"), down)
    assert(!down.include?("malloc (libc") && !up.include?("yaml_"), down + up)
  end
end
