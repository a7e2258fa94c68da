# frozen_string_literal: true

# What the agent has in its deltas of files that cut their stacks.

require "stringio"
require_relative "../../testing"
require_relative "command_helper"

class AgentDeltasTest < Test
  include CommandHelper

  LINE = "app/shop.rb:5 Shop#store"
  CALLERS = ["app/a.rb:1 A#run", "app/b.rb:2 B#run"].freeze

  def file_of(profile) = StringIO.new("".b).tap { |io| HeapSample::PprofWriter.new(profile).write(io) }.string

  # How many objects each stack has allocated in the delta; +stacks+: {callers => objects}.
  def delta(deltas, stacks)
    build = Build.new(interval: 1)
    stacks.each { |callers, objects| build.row([LINE, *callers], "String", alloc: objects) }
    profile = HeapSample::Profile.load(StringIO.new(deltas.since_last { file_of(build.profile) }), name: "delta")
    profile.rows.to_h { |row| [row.stack.drop(1).map(&:label), row.alloc.objects.round] }.reject { |_, objects| objects.zero? }
  end

  test "a stack that a file cuts, or has whole again, is not allocated once more" do
    deltas = HeapSample::Tool::AgentDeltas.new
    a, b = CALLERS.map { |caller| [caller] }
    cut = [":0 (evicted)"]
    assert_equal({["A#run"] => 100, ["B#run"] => 50}, delta(deltas, {a => 100, b => 50}))
    assert_equal({}, delta(deltas, {cut => 150}))
    assert_equal({["(evicted)"] => 30}, delta(deltas, {cut => 180}))
    assert_equal({["A#run"] => 20}, delta(deltas, {a => 120, cut => 80}))
  end

  test "where a line has become smaller, it counts again above the largest value" do
    deltas = HeapSample::Tool::AgentDeltas.new
    a = [CALLERS.first]
    assert_equal [{["A#run"] => 100}, {}, {}, {["A#run"] => 10}], [100, 60, 100, 110].map { |samples| delta(deltas, {a => samples}) }
  end
end
