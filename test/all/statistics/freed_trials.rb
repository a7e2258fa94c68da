# frozen_string_literal: true

# Is what would be freed, as a walk foretells it, what is freed when the holder is really emptied?
#
# Each trial plants objects (planted.rb); one in three has a second holder.  A walk says what each holder keeps, and what would be freed
# without it.  Then one holder is emptied, GC.start runs, and what is gone is counted (ObjectSpace.each_object).  Over all
# holders it must be what the samples add up to.
#
# Usage: [TRIALS=2000] ruby --heap-sample=off,malloc=standby,output=none freed_trials.rb     a fifth of so many trials
require_relative "../../testing"
require_relative "judging"
require "heapsample"
require_relative "planted"

TRIALS = Integer(ENV["TRIALS"] || 2000) / 5
C = GC::SampleProfile.raw_columns

def alive
  planted = [Small, Large, Text].sum { |klass| ObjectSpace.each_object(klass).sum { |object| ObjectSpace.memsize_of(object) } }
  planted + Plant.boxes.values.sum { |box| box[0] ? ObjectSpace.memsize_of(box[0]) : 0 }
end

def plant_with_seconds
  boxes = Plant.boxes.values
  plant(2000) { |object,| Plant.add(boxes.sample(random: RANDOM), object) if RANDOM.rand(3).zero? }
end

# What is gone with this box.
def emptied(name)
  GC.start
  before = alive
  Plant.boxes.fetch(name).clear
  GC.start
  before - alive
end

def sums_agree?(raw)
  kept = Hash.new(0.0)
  raw[:kept].each_slice(5) { |row, _, _, space,| kept[row] += space }
  raw[:rows].each_with_index.all? do |row, index|
    all = row[C[:inuse_space]] + row[C[:young_space]]
    (all - kept[index]).abs <= all * 1e-9 + 1e-6
  end
end

# [what is foretold, what is gone] of a holder that keeps much, or little.
def trial(interval, number)
  snapshot = GC.sample_profile(interval: interval, why: true, threads: :all) do
    apart { plant_with_seconds }
    GC.start
  end
  profile = snapshot.to_profile
  raise "refused: #{profile.info.walk.refused}" if profile.info.walk.refused
  freed = profile.why.freed.to_h { |one| [one.names.last, one.estimate] }.slice(*NAMES)
  name, foretold = freed.to_a[number % freed.size]
  [foretold, apart { emptied(name) }, sums_agree?(snapshot.raw), name]
end

class FreedTest < Test
  include Judging

  { "2 KiB" => 2048, "16 KiB" => 16_384 }.each do |name, interval|
    test "at an interval of #{name} what a walk says would be freed is freed" do
      trial(interval, 0)
      trials = Array.new(TRIALS) { |number| trial(interval, number) }
      deviation = Math.sqrt(trials.sum { |foretold,| foretold.variance })
      assert_unbiased trials.sum { |foretold,| foretold.space }, trials.sum { |_, gone,| gone.to_f }, deviation
      covered = trials.count { |foretold, gone,| gone.between?(*foretold.space_interval) } / TRIALS.to_f
      assert_ratio "coverage", covered, Bounds.share(TRIALS, 0.93)
      assert trials.all? { |trial| trial[2] }, "all holders together do not have what the samples add up to"
    end
  end
end
