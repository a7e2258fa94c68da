# frozen_string_literal: true

# Is the judgement of the same code right each time?

require_relative "../../testing"
require_relative "examples"
require "heapsample"

class JudgementsTest < Test
  COUNT = Integer(ENV.fetch("COUNT", 10))
  KEPT = Examples::KEPT

  def setup
    @shop = Examples::Shop.new
    # What code makes when it first runs is in no count: each has run once.
    @shop.work
    @shop.fails
  end

  # The name, the judgement, and whether it is right.
  def self.always(name, right, &judge)
    test("#{name}: #{COUNT} times") do
      wrong = Array.new(COUNT) { instance_exec(&judge).tap { KEPT.clear } }.reject(&right)
      assert_empty wrong
    end
  end

  def retained(&) = HeapSample::Retention.new(&).bytes
  def leaks(&) = HeapSample::RepeatedBlock.new(&).leaks.size

  always("garbage is not retained", 0.method(:==)) { retained { @shop.work } }
  always("what the block returns is not retained", 0.method(:==)) { retained { Array.new(1000) { |number| "text #{number}" * 9 } } }
  always("an exception is not retained", 0.method(:==)) { retained { @shop.fails } }
  always("what a match left is not retained", 0.method(:==)) { retained { "order 7" =~ /\d/ } }
  always("what another thread makes is not retained", (0...1000).method(:include?)) do
    retained do
      Thread.new { KEPT << ("t" * 1000) }.join
      nil
    end
  end
  always("one object is retained", 40.method(:==)) { retained { KEPT << Object.new } }
  always("a buffer is retained", (100_000..100_200).method(:include?)) { retained { KEPT << ("b" * 100_000) } }
  always("work is no leak", 0.method(:==)) { leaks { @shop.work } }
  always("bounded caches are no leak", 0.method(:==)) { leaks { @shop.visit(@id = @id.to_i + 1) } }
  always("an object a run is a leak", 1.method(:==)) do
    leaks do
      @shop.work
      KEPT << Object.new
    end
  end
  always("an object in every second run is a leak", 1.method(:==)) { leaks { KEPT << Object.new if (@id = @id.to_i + 1).even? } }
end
