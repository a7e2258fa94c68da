# frozen_string_literal: true

# How many entries a container has, and what limits it.

require_relative "../../testing"
require_relative "builds"
require_relative "held_build"
require "heapsample/tool"
require "set"
require "stringio"

class ContainersTest < Test
  include Builds
  include HeapSample

  CHAINS = [["constant Cart::ALL #3680", 3680, nil],
            ["ivar @data of LruRedux::Cache #412, @max_size of LruRedux::Cache", 412, "@max_size of LruRedux::Cache"],
            ["ivar @backend of Moneta::Adapters::LRUHash #7", 7, "Moneta::Adapters::LRUHash"],
            ["ivar @options of Moneta::Adapters::LRUHash", nil, nil],
            ["constant Cart::NONE #0", 0, nil],
            ["ivar @next of Node ×812", nil, nil]].freeze

  def profile
    build = Build.new(interval: 4096)
    CHAINS.each_index { |line| build.row(["/srv/app/a.rb:#{line + 1} A#b"], "Leaf", inuse: 50 + line, at_gc: 1) }
    CHAINS.each_with_index.inject(HeldBuild.new(build)) { |held, ((edge, *), row)| held.way(row, [edge, "element [] of Array"]) }.profile
  end

  def facts(profile) = profile.holders.map { |held| profile.holders.path(held.node)[1] }.map { |edge| [edge.name, edge.entries, edge.bound] }

  def expected = CHAINS.map { |edge, entries, bound| [edge[/ (.*?)(?: [#×]\d+.*)?\z/, 1], entries, bound] }

  test "a reference has the entries of its container, and what limits it" do
    assert_equal(expected, facts(profile))
    assert_equal({entries: 412, bound: "@max_size of LruRedux::Cache"}, profile.holders.path(profile.holders.all[1].node)[1].to_h.slice(:entries, :bound))
  end

  test "a file has them, too" do
    file = StringIO.new("".b)
    profile.save(file)
    assert_equal(expected, facts(Profile.load(StringIO.new(file.string))))
  end

  test "of several processes there are several containers" do
    merged = [profile, profile].inject(Tool::Merge.new) { |merge, one| merge.add(one) }.profile
    assert_equal(expected.map { |name,| [name, nil, nil] }.to_set, facts(merged).to_set)
  end
end
