# frozen_string_literal: true

# Plays a mix: each act on a thread of its own, or one alone on the main thread, until time is up; then the sampler's books are checked.
# Usage: ruby OPTION… child.rb SEED SECONDS DIR ACT,…     prints "fine" last, if all was

require_relative 'mix'
require_relative 'stage'

# What is true of the sampler whatever happened. Others (Timeout's thread) may still allocate.
module Books
  Wrong = Class.new(StandardError)
  PARTS = %i[bytes_records bytes_stacks bytes_totals bytes_names bytes_malloc bytes_snapshots].freeze

  # `bound`: own memory was all the time; `settled`: always, or never.
  def self.check(kept, every_one_sampled:, bound:, settled:)
    stat = nil
    # It is read number by number: the thread of every=, a signal's handler or Timeout's thread may come between.
    100.times do
      stat = GC::SampleProfile.stat
      break if stat[:bytes] == parts(stat)
    end
    claim(stat[:bytes] == parts(stat), "bytes #{stat[:bytes]} are not the sum of their parts, #{parts(stat)}")
    claim(!bound || stat[:bytes_peak] <= stat[:bytes_max], "#{stat[:bytes_peak]} bytes at once, but #{stat[:bytes_max]} at most")
    claim(stat[:sessions] == (stat[:running] ? 1 : 0), "#{stat[:sessions]} sessions are open")
    # Where a bound comes after an exact run, what that took leaves no room at first.
    claim(!settled || stat[:dropped_samples] + stat[:dropped_moves] == 0,
          "#{stat[:dropped_samples]} samples and #{stat[:dropped_moves]} that moved were dropped: there was memory")
    heard, sampled = Witness.hear(kept, every_one_sampled: every_one_sampled)
    same_count if stat[:running]
    "#{heard} witnesses, #{sampled} sampled, #{stat[:samples_taken]} samples taken, #{stat[:marks]} marks"
  end

  # A profile's rows add up to its samples, and each sample is a record.
  def self.same_count
    profile = GC.sample_profile
    columns = GC::SampleProfile.raw_columns
    rows = profile.raw[:rows].reject { |row| row[columns[:malloc]] }.sum { |row| row[columns[:inuse_samples]] + row[columns[:young_samples]] }
    claim(rows == profile.raw_samples.size, "#{rows} samples in rows, #{profile.raw_samples.size} listed")
  end

  def self.parts(stat) = PARTS.sum { |part| stat[part] }

  def self.claim(truth, message)
    raise Wrong, message unless truth
  end
  private_class_method :same_count, :parts, :claim
end

seed, seconds, dir, names = ARGV
mix = Mix.new(Integer(seed), names: names.split(','))
stage = Stage.new(dir, Float(seconds))
sampled = stage.sampling?
Thread.report_on_exception = false

# MRI's require says EFAULT where another thread compacts just then, since its path lies in a heap page: what a
# report needs is loaded before.
GC.sample_profile(interval: 1 << 20) {}.report.to_s if stage.sampler?

acts = mix.acts.map { |act| act.new(Random.new([mix.seed, *act.called.bytes].sum), stage) }
if acts.size == 1
  acts[0].step until stage.time_up?
else
  threads = acts.map { |act| Thread.new { act.step until stage.time_up? } }
  until threads.all? { |thread| thread.join(0.2) }
    # Finalizers allocate. Where they run on the thread with a GC at each allocation, they would take minutes.
    GC.stress = false if stage.time_up?
  end
end
acts.each(&:finish)
bound = mix.bound? && stage.bound?
settled = bound || !mix.acts.include?(Sessions)
if sampled
  puts Books.check(acts.flat_map(&:witnesses), every_one_sampled: mix.every_one_sampled?, bound: bound, settled: settled)
end
puts 'fine'
