# frozen_string_literal: true

# What an act may know of the run that it is part of.
class Stage
  attr_reader :dir

  def initialize(dir, seconds)
    @dir = dir
    @end = now + seconds
  end

  def time_up? = now >= @end

  # max_samples: nil lifts the bound of own memory; what it then takes stays the most there ever was.
  def unbound = @unbound = true
  def bound? = !@unbound

  # Is this the patched Ruby, and does it sample right now?
  def sampler? = GC.respond_to?(:sample_profile)
  def sampling? = sampler? && GC::SampleProfile.running?

  # A profile of what is known now, read through in one way or another; nothing while nothing is sampled.
  def look(random)
    return unless sampling?

    profile = GC.sample_profile(memsize: random.rand(4).zero?, full_gc: random.rand(16).zero?)
    case random.rand(3)
    when 0 then profile.raw_samples.sample(20, random: random).each { |sample| GC::SampleProfile.object_of(sample[0]) }
    when 1 then profile.raw
    end
    profile
  rescue RuntimeError => e
    raise unless e.message.start_with?('nothing is being sampled')      # another thread has stopped it meanwhile
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
