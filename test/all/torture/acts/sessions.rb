# frozen_string_literal: true

# Sampling starts, stops and changes its interval; blocks are profiled inside each other, on one thread or on all.
class Sessions < Act
  def self.about_the_sampler? = true

  def step
    case @random.rand(4)
    when 0 then GC::SampleProfile.start(interval: interval)
    when 1 then stop_and_start
    else nested(@random.rand(1..7))
    end
  end

  private

  def interval = [1, 2, 64, 1_000, 4096, 1 << 20, 1 << 40].sample(random: @random)

  def stop_and_start
    GC::SampleProfile.stop
    Array.new(100) { |i| i.to_s }
    most = [nil, 1_000].sample(random: @random)
    @stage.unbound unless most
    # Three frames have the line of a witness in them: Class#new is one, of C.
    GC::SampleProfile.start(interval: interval, max_samples: most)
  end

  # Each block's profile has what its own thread allocated in it.
  def nested(levels)
    kept = nil
    profile = GC.sample_profile(interval: interval, threads: [nil, :all].sample(random: @random)) do
      kept = Array.new(50) { Witness.new(__FILE__, __LINE__) }
      nested(levels - 1) if levels > 1
      stop_and_start if @random.rand(16).zero?
    end
    same(50, kept.size, 'what the block kept')
    exact(profile, kept) if profile.to_profile.meta['settings']['interval'] == 1
  rescue RuntimeError => e
    raise unless e.message.start_with?('seven blocks')
  end

  def exact(profile, kept)
    raw = profile.raw
    # While live sites fill their table, new samples are of `(other classes)` (base/memory.h).
    names = ['Witness', '(other classes)'].map { |name| raw[:texts].index(name) }
    columns = GC::SampleProfile.raw_columns
    allocated = raw[:rows].select { |row| names.include?(row[columns[:class]]) }.sum { |row| row[columns[:alloc_samples]] }
    same(true, allocated >= kept.size, "#{allocated} of #{kept.size} allocations seen at interval 1")
  end
end
