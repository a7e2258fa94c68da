# frozen_string_literal: true

# Is what would be freed, as a walk foretells it, what is freed when the holder is really emptied?
#
# Each trial plants objects (planted.rb); one in three has a second holder.  A walk says what each holder keeps, and what would be freed
# without it.  Then one holder is emptied, GC.start runs, and what is gone is counted (ObjectSpace.each_object).  Over all
# holders it must be what the samples add up to.
#
# Prints TAP.
# Usage: ruby --heap-sample=off,malloc=standby,output=none freed_trials.rb [TRIALS]    (a fifth of them; default 2000)
require_relative "../../tap"
require_relative "bounds"
require "heapsample"
require_relative "planted"

TRIALS = Integer(ARGV[0] || 2000) / 5
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
  abort "refused: #{profile.info.walk.refused}" if profile.info.walk.refused
  freed = profile.why.freed.to_h { |one| [one.names.last, one.estimate] }.slice(*NAMES)
  name, foretold = freed.to_a[number % freed.size]
  [foretold, apart { emptied(name) }, sums_agree?(snapshot.raw), name]
end

{ "2 KiB" => 2048, "16 KiB" => 16_384 }.each do |name, interval|
  trial(interval, 0)
  trials = Array.new(TRIALS) { |number| trial(interval, number) }
  ratio = trials.sum { |foretold,| foretold.space } / trials.sum { |_, gone,| gone.to_f }
  covered = trials.count { |foretold, gone,| gone.between?(*foretold.space_interval) } / TRIALS.to_f
  least = Bounds.share(TRIALS, 0.93).begin
  z = trials.sum { |foretold, gone,| foretold.space - gone } / Math.sqrt(trials.sum { |foretold,| foretold.variance })
  check("what is foretold is neither too much nor too little, #{name}", z.abs < Bounds::DEVIATIONS, format("z %.2f", z))
  check("what would be freed is freed, an interval of #{name}", covered >= least,
        format("%.1f%% of %d trials in the interval (at least %.1f%%), %.3f of the truth, %s", covered * 100, TRIALS, least * 100, ratio,
               trials.map(&:last).tally.values.join(" ")))
  apart = trials.count { |trial| !trial[2] }
  check("all holders together have what the samples add up to, #{name}", apart.zero?, "not in #{apart} trials")
end
Tap.finish
