# frozen_string_literal: true

# Is what objects hold of free heap pages unbiased, is its variance what it says, and do its intervals hold?
#
# The intervals know what the samples say.  Where a few objects hold most of the free memory, and none of these is a sample,
# the intervals are too low.  Where pages begin decides in each run how few these objects are.  Of the loads marked `seldom`
# intervals held the truth in 18% to 90% of the trials of a run, so these check bias and variance alone.
#
# Each trial plants survivors on heap pages, few on some and many on others, under two sessions: one has every object, and
# so the truth; the other has samples, and estimates it.
# Usage: [TRIALS=2000] ruby holding_trials.rb
require_relative "../../testing"
require_relative "judging"
require "heapsample"

TRIALS = Integer(ENV["TRIALS"] || 2000)
C = GC::SampleProfile.raw_columns
class Survivor; end

# Of so many objects in a row one survives: alike on all pages, or not.
LOADS = {
  "alike on all pages, 40 samples" => { interval: 640, one_of: [8] },
  "alike on all pages, 10 samples" => { interval: 2_560, one_of: [8] },
  "few on some pages, many on others, ten samples of the few" => { interval: 80, one_of: [3, 100] },
  "few on some pages, many on others, rarely seen" => { interval: 640, one_of: [3, 100], seldom: true },
  "a few hold most, and are rarely seen" => { interval: 640, one_of: [1, 400], seldom: true },
}.freeze
OBJECTS = 5_000

# The others are let go of by hand: somewhere on the machine stack the array may be left behind, and a trial would plant
# 5,000 objects on full pages, where the few at the edges hold most.
def plant(one_of)
  stretch = OBJECTS / one_of.size
  all = Array.new(OBJECTS) { Survivor.new }
  kept = all.select.with_index { |_, i| (i % one_of[i / stretch % one_of.size]).zero? }
  all.clear
  kept
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
  [held(estimate), truth[:holds_free], truth[:inuse_objects] - kept.size]
end

def covers?(estimate, truth)
  size = estimate[:inuse_objects].zero? ? 0 : estimate[:holds_free] / estimate[:inuse_objects]
  low, high = HeapSample::Statistics.interval(total: estimate[:holds_free], variance: estimate[:holds_free_variance], size: size)
  truth.between?(low, high)
end

class FreeMemoryHeldTest < Test
  include Judging

  LOADS.each do |name, load|
    test "#{name}: the free memory that objects hold is unbiased, and its variance is what profiles state" do
      trials = trials_of(load).select { |_, truth,| truth > 0 }
      assert_operator trials.map(&:last).max, :<=, 2, "more is alive than what was planted"
      ratios = trials.map { |estimate, truth,| estimate[:holds_free] / truth }
      mean = ratios.sum / ratios.size
      spread = ratios.sum { |ratio| (ratio - 1)**2 } / ratios.size
      assert_unbiased mean, 1, Math.sqrt(spread / ratios.size)
      stated = trials.sum { |estimate, truth,| estimate[:holds_free_variance] / truth**2 } / trials.size
      assert_ratio "variance", Math.sqrt(stated / spread), Bounds.spread(TRIALS)
      next if load[:seldom]

      covered = trials.count { |estimate, truth,| covers?(estimate, truth) }
      assert_operator covered, :>=, Bounds.fewest(trials.size, 0.93), "of #{trials.size} intervals"
    end
  end

  private

  # In a child: a load leaves pages behind that would decide how few objects hold most in the next one.
  def trials_of(load)
    IO.popen("-", "rb") do |child|
      next Marshal.load(child) if child

      GC::SampleProfile.start(interval: 1, max_samples: nil, seed: 20_261_123)
      trial(load)
      $stdout.binmode.write(Marshal.dump(Array.new(TRIALS) { trial(load) }))
      $stdout.flush
      exit!(0)
    end
  end
end
