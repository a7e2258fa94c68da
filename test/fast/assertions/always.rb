# frozen_string_literal: true

# The assertions' judgement of the same code, COUNT times: right each time?
# Usage: ruby always.rb COUNT

require "heapsample"
require_relative "../../tap"
require_relative "examples"

include HeapSample

COUNT = Integer(ARGV.fetch(0))
shop = Examples::Shop.new
kept = Examples::KEPT
id = 0
# What code makes when it first runs is in no count: each has run once.
[-> { shop.work }, -> { shop.fails }].each(&:call)

# always NAME, what is judged, and whether that is right
def always(name, judge, right)
  wrong = COUNT.times.map { judge.call.tap { Examples::KEPT.clear } }.reject(&right)
  check name, wrong.empty?, "#{COUNT - wrong.size} of #{COUNT}#{"; #{wrong.first(3).inspect}" unless wrong.empty?}"
end

exactly = ->(bytes) { ->(retained) { retained == bytes } }
always "garbage is not retained", -> { Retention.new { shop.work }.bytes }, exactly[0]
always "nor what the block returns", -> { Retention.new { Array.new(1000) { |number| "text #{number}" * 9 } }.bytes }, exactly[0]
always "nor an exception", -> { Retention.new { shop.fails }.bytes }, exactly[0]
always "nor what a match left", -> { Retention.new { "order 7" =~ /\d/ }.bytes }, exactly[0]
always "nor what another thread makes", -> { Retention.new { Thread.new { kept << "t" * 1000 }.join; nil }.bytes }, ->(bytes) { bytes < 1000 }
always "one object is", -> { Retention.new { kept << Object.new }.bytes }, exactly[40]
always "a buffer is", -> { Retention.new { kept << "b" * 100_000 }.bytes }, ->(bytes) { bytes.between?(100_000, 100_200) }
leaks = ->(**options, &block) { RepeatedBlock.new(**options, &block).leaks.size }
always "work is no leak", -> { leaks.call { shop.work } }, exactly[0]
always "nor are bounded caches", -> { leaks.call { shop.visit(id += 1) } }, exactly[0]
always "an object a run is", -> { leaks.call { shop.work; kept << Object.new } }, exactly[1]
always "so is one in every second run", -> { leaks.call { kept << Object.new if (id += 1).even? } }, exactly[1]
Tap.finish
