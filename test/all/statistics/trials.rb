# frozen_string_literal: true

# Are the estimates unbiased, is their spread what the model says, and do the intervals hold?
#
# Each trial allocates a known heap in this process under a session of its own and compares what
# GC.sample_profile estimates with what is true.  Prints TAP.
# Usage: ruby trials.rb [TRIALS]    (default 2000)
require_relative "../../tap"
require_relative "bounds"
require "heapsample"

TRIALS = Integer(ARGV[0] || 2000)
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

GC::SampleProfile.start(interval: 1 << 30, seed: 20_250_716)
LOADS.each do |name, load|
  load[:make].call
  trials = Array.new(TRIALS) { trial(load) }
  p_sample = 1 - Math.exp(-load[:size].to_f / load[:interval])
  objects = load[:objects]
  expected = (1 - p_sample) / (p_sample * objects)   # relative variance of the estimate

  mean = trials.sum { |t| t[:objects] } / TRIALS
  standard_error = objects * Math.sqrt(expected / TRIALS)
  z = (mean - objects) / standard_error
  check("bias, #{name}", z.abs < Bounds::DEVIATIONS, format("z %.2f, mean %.1f of %d", z, mean, objects))

  variance = trials.sum { |t| (t[:objects] / objects - 1)**2 } / TRIALS
  range = Bounds.spread(TRIALS, 1 / (p_sample * objects))
  ratio = Math.sqrt(variance / expected)
  check("spread, #{name}", range.cover?(ratio), format("ratio %.3f, %s", ratio, Bounds.shown(range)))

  # It is in proportion to the number of samples.
  estimated = trials.sum { |t| t[:variance] } / TRIALS / (objects * load[:size]).to_f**2
  margin = [0.1, Bounds::DEVIATIONS * Math.sqrt(expected / TRIALS)].max
  check("variance, #{name}", (estimated / expected - 1).abs < margin, format("ratio %.3f", estimated / expected))

  truth = objects * load[:size].to_f
  unit = load[:size] / p_sample
  inside = trials.count do |t|
    low, high = HeapSample::Statistics.interval(total: t[:space], variance: t[:variance], size: load[:size], unit: unit)
    truth.between?(low - 1e-6, high + 1e-6)
  end
  share = inside.fdiv(TRIALS)
  expected_samples = p_sample * objects
  range = Bounds.share(TRIALS, 0.93, expected_samples >= 20 && p_sample < 0.9 ? 0.97 : 1)
  check("coverage, #{name}", range.cover?(share), format("%.1f%% with %.1f samples expected, %s", share * 100, expected_samples, Bounds.shown(range)))
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
    # In use, and young: no mark need have ended.
    sum = ->(*names) { rows.sum { |row| row.values_at(*COLUMNS.values_at(*names)).sum } }
    { truth: made.size, objects: sum[:inuse_objects, :young_objects], variance: sum[:inuse_variance, :young_variance] / 1600.0 }
  end
end

GC::SampleProfile.stop
GC::SampleProfile.start(interval: 16_384, max_samples: 1_500, malloc: false, seed: 20_261_122)
walks = Array.new(TRIALS) { walk }
%w[older newer].each_with_index do |name, at|
  errors = walks.map { |both| both[at][:objects] - both[at][:truth] }
  mean = errors.sum / TRIALS
  variance = errors.sum { |error| error**2 } / TRIALS
  z = mean / Math.sqrt(variance / TRIALS)
  check("bias, intervals down and up again, the #{name}", z.abs < Bounds::DEVIATIONS, format("z %.2f, mean error %.1f", z, mean))
  ratio = Math.sqrt(variance / (walks.sum { |both| both[at][:variance] } / TRIALS))
  check("spread, intervals down and up again, the #{name}", Bounds.spread(TRIALS).cover?(ratio), format("ratio %.3f", ratio))
end
exit!(Tap.plan)
