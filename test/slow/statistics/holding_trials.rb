# frozen_string_literal: true

# Is what objects hold of free heap pages unbiased, is its variance what it says, and do its intervals hold?
#
# The intervals know what the samples say.  Where a few objects hold most of it, and it happens that none of these is a
# sample, they are too low: in the third load the 25 that hold most have 1.5 samples on average, and none in a fifth of
# the trials.  No more is asked there than the chance that one of them is seen.
#
# Each trial plants survivors on heap pages, few on some and many on others, under two sessions: one has every object, and
# so the truth; the other has samples, and estimates it.  Prints TAP.
# Usage: ruby holding_trials.rb [TRIALS]    (default 2000)
require_relative "../../tap"
require "heap_sample"

TRIALS = Integer(ARGV[0] || 2000)
C = GC::SampleProfile::COLUMNS
class Survivor; end

# Of so many objects in a row one survives: alike on all pages, or not.
LOADS = {
  "alike on all pages, 40 samples" => { interval: 640, one_of: [8], covered: 0.93 },
  "alike on all pages, 10 samples" => { interval: 2_560, one_of: [8], covered: 0.9 },
  "few on some pages, many on others" => { interval: 640, one_of: [3, 100], covered: 0.78 },
}.freeze
OBJECTS = 5_000

def plant(one_of)
  stretch = OBJECTS / one_of.size
  Array.new(OBJECTS) { Survivor.new }.select.with_index { |_, i| (i % one_of[i / stretch % one_of.size]).zero? }
end

def held(profile)
  raw = profile.raw
  text = raw[:texts].index("Survivor")
  rows = raw[:rows].select { |row| row[C[:class]] == text }
  %i[holds_free holds_free_variance inuse_samples inuse_objects].to_h { |name| [name, rows.sum { |row| row[C[name]] }] }
end

def trial(load)
  kept = nil
  estimate = GC.sample_profile(interval: load[:interval]) do
    kept = plant(load[:one_of])
    GC.start
  end
  truth = held(GC.sample_profile)
  [held(estimate), truth[:holds_free], kept.size]
end

def covers?(estimate, truth)
  size = estimate[:inuse_objects].zero? ? 0 : estimate[:holds_free] / estimate[:inuse_objects]
  low, high = HeapSample::Statistics.interval(total: estimate[:holds_free], variance: estimate[:holds_free_variance], size: size)
  truth.between?(low, high)
end

GC::SampleProfile.start(interval: 1, max_samples: nil, seed: 20_261_123)
LOADS.each do |name, load|
  trial(load)
  trials = Array.new(TRIALS) { trial(load) }.select { |_, truth,| truth > 0 }
  ratios = trials.map { |estimate, truth,| estimate[:holds_free] / truth }
  mean = ratios.sum / ratios.size
  spread = ratios.sum { |ratio| (ratio - 1)**2 } / ratios.size
  z = (mean - 1) / Math.sqrt(spread / ratios.size)
  check("bias, #{name}", z.abs < 4, format("z %.2f (bound 4), mean %.4f of the truth, %d trials", z, mean, trials.size))

  said = trials.sum { |estimate, truth,| estimate[:holds_free_variance] / truth**2 } / trials.size
  ratio = Math.sqrt(said / spread)
  check("variance, #{name}", (ratio - 1).abs < [0.1, 4 / Math.sqrt(TRIALS)].max, format("ratio %.3f", ratio))

  # In one short run of three the intervals of few samples covered 56%, with a mean of 1.18: not understood yet
  # (doc/estimates.md).  The whole statistics ask for them.
  if TRIALS < 1000 && load[:interval] > 640
    Tap.skip("intervals, #{name}", "too few trials: see the whole statistics")
    next
  end
  covered = trials.count { |estimate, truth,| covers?(estimate, truth) } / trials.size.to_f
  least = load[:covered] - 3 * Math.sqrt(load[:covered] * (1 - load[:covered]) / trials.size)
  check("intervals, #{name}", covered >= least, format("%.1f%% cover (at least %.1f%%)", covered * 100, least * 100))
end
Tap.finish
