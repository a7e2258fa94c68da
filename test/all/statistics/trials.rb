# frozen_string_literal: true

# Are the estimates unbiased, is their spread what the model says, and do the intervals hold?
#
# Each trial allocates a known heap in this process under a session of its own and compares what
# GC.sample_profile estimates with what is true.
# Usage: [TRIALS=2000] ruby trials.rb
require_relative "../../testing"
require_relative "judging"
require "heapsample"

TRIALS = Integer(ENV["TRIALS"] || 2000)
COLUMNS = GC::SampleProfile.raw_columns
class Plain; end

class Wide
  def initialize = (@a = @b = @c = @d = @e = @f = nil)
end

# What a trial allocates: objects of one slot size, or of several.
LOADS = {
  "40-byte slots, many samples" => { interval: 8_192, make: -> { Array.new(20_000) { Plain.new } }, class: "Plain", objects: 20_000, size: 40 },
  "40-byte slots, 20 samples" => { interval: 65_536, make: -> { Array.new(32_768) { Plain.new } }, class: "Plain", objects: 32_768, size: 40 },
  "40-byte slots, 6 samples" => { interval: 65_536, make: -> { Array.new(9_830) { Plain.new } }, class: "Plain", objects: 9_830, size: 40 },
  "80-byte slots, p of 7%" => { interval: 1_100, make: -> { Array.new(2_000) { Wide.new } }, class: "Wide", objects: 2_000, size: 80 },
  "640-byte slots" => { interval: 20_000, make: -> { Array.new(2_000) { "x" * 600 } }, class: "String", objects: 2_000, size: 640 },
  "p of almost 1" => { interval: 16, make: -> { Array.new(500) { Plain.new } }, class: "Plain", objects: 500, size: 40 },
}.freeze

def row_of(profile, class_name, size)
  raw = profile.raw
  text = raw[:texts].index(class_name)
  rows = raw[:rows].select { |row| row[COLUMNS[:class]] == text && row[COLUMNS[:slot_size]] == size }
  { samples: rows.sum { |row| row[COLUMNS[:alloc_samples]] }, objects: rows.sum { |row| row[COLUMNS[:alloc_objects]] },
    space: rows.sum { |row| row[COLUMNS[:alloc_space]] }, variance: rows.sum { |row| row[COLUMNS[:alloc_variance]] } }
end

def trial(load)
  keep = nil
  profile = GC.sample_profile(interval: load[:interval]) { keep = load[:make].call }
  row_of(profile, load[:class], load[:size])
end

# Coarse, then a closer look, then the cap in two steps: what is older than an interval keeps its own weight.
class Older; end
class Newer; end

def walk
  GC::SampleProfile.stop
  GC::SampleProfile.start(interval: 16_384, max_samples: 1_500, malloc: false)
  older = Array.new(10_000) { Older.new }
  GC::SampleProfile.start(interval: 1_024)
  newer = Array.new(10_000) { Newer.new }
  GC.sample_profile(interval: 1) { Array.new(2_000) { Object.new }; nil }
  newer.concat(Array.new(40_000) { Newer.new })
  raw = GC.sample_profile.raw
  [[older, "Older"], [newer, "Newer"]].map do |made, name|
    text = raw[:texts].index(name)
    rows = raw[:rows].select { |row| row[COLUMNS[:class]] == text && row[COLUMNS[:slot_size]] == 40 }
    # Live, and young: no mark need have ended.
    sum = ->(*names) { rows.sum { |row| row.values_at(*COLUMNS.values_at(*names)).sum } }
    { truth: made.size, objects: sum[:inuse_objects, :young_objects], variance: sum[:inuse_variance, :young_variance] / 1600.0 }
  end
end

class SlotsTest < Test
  def setup
    GC::SampleProfile.stop
    GC::SampleProfile.start(interval: 1 << 30, seed: 20_250_716)
  end

  LOADS.each do |name, load|
    test "#{name}: estimates are unbiased, their spread is what the model states, and intervals hold the truth" do
      load[:make].call
      trials = Array.new(TRIALS) { trial(load) }
      p_sample = 1 - Math.exp(-load[:size].to_f / load[:interval])
      objects = load[:objects]
      expected = (1 - p_sample) / (p_sample * objects) # relative variance of the estimate

      assert_unbiased trials.sum { |t| t[:objects] } / TRIALS, objects, objects * Math.sqrt(expected / TRIALS)
      variance = trials.sum { |t| (t[:objects] / objects - 1)**2 } / TRIALS
      assert_ratio "spread", Math.sqrt(variance / expected), Bounds.spread(TRIALS, 1 / (p_sample * objects))
      # It is in proportion to the number of samples.
      estimated = trials.sum { |t| t[:variance] } / TRIALS / (objects * load[:size]).to_f**2
      margin = [0.1, Bounds::DEVIATIONS * Math.sqrt(expected / TRIALS)].max
      assert_ratio "variance", estimated / expected, 1 - margin..1 + margin
      assert_covered trials, objects * load[:size].to_f, load, p_sample
    end
  end

  test "intervals go down and up again: estimates are unbiased, and their spread is what they state" do
    GC::SampleProfile.stop
    GC::SampleProfile.start(interval: 16_384, max_samples: 1_500, malloc: false, seed: 20_261_122)
    walks = Array.new(TRIALS) { walk }
    %w[older newer].each_with_index do |_, at|
      errors = walks.map { |both| both[at][:objects] - both[at][:truth] }
      variance = errors.sum { |error| error**2 } / TRIALS
      assert_unbiased errors.sum / TRIALS, 0, Math.sqrt(variance / TRIALS)
      assert_ratio "spread", Math.sqrt(variance / (walks.sum { |both| both[at][:variance] } / TRIALS)), Bounds.spread(TRIALS)
    end
  end

  private

  include Judging

  def assert_covered(trials, truth, load, p_sample)
    unit = load[:size] / p_sample
    inside = trials.count do |t|
      low, high = HeapSample::Statistics.interval(total: t[:space], variance: t[:variance], size: load[:size], unit: unit)
      truth.between?(low - 1e-6, high + 1e-6)
    end
    most = p_sample * load[:objects] >= 20 && p_sample < 0.9 ? 0.97 : 1
    assert_ratio "coverage", inside.fdiv(TRIALS), Bounds.share(TRIALS, 0.93, most)
  end
end
