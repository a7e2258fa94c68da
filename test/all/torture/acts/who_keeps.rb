# frozen_string_literal: true

require 'heapsample' if GC.respond_to?(:sample_profile)     # the unpatched Ruby plays the other acts
require 'timeout'

# Walks over the heap by a child process (GC.sample_profile(why:)), let alone or broken off, at any moment of what the others do.
class WhoKeeps < Act
  SECONDS = 2
  def self.about_the_sampler? = true

  def step
    @kept = Array.new(@random.rand(1..20)) { Witness.new(__FILE__, __LINE__) }
    if @random.rand(4).zero?
      Timeout.timeout(@random.rand * 0.05 + 1e-6) { ask }
    else
      ask
    end
    sleep(@random.rand * 0.05)
  rescue Timeout::Error
    nil
  end

  private

  # The parts of a row are the row, whatever happened meanwhile; or there is none, and a reason.
  def ask
    return unless @stage.sampling?

    raw = GC.sample_profile(why: SECONDS).raw
    walk = HeapSample::MetaMessage.decode(raw[:meta_message]).fetch('kept')
    return same(nil, raw[:kept], 'parts of a walk that was refused') if walk['refused']

    same([], rows_that_differ(raw), "rows that are not the sum of their parts, of #{raw[:rows].size}")
    same(true, pins_add_up?(raw, walk['pins']), 'pins that add up to what is pinned')
  rescue RuntimeError => e
    raise unless e.message.start_with?('nothing is being sampled')      # another thread has stopped it meanwhile
  end

  # Each is rounded.
  def pins_add_up?(raw, pins)
    column = GC::SampleProfile.raw_columns[:holds_free_pinned]
    pinned = raw[:rows].sum { |row| row[column] }
    (pins.sum { |pin| pin['free'] } - pinned).abs <= pins.size + 1 + pinned * 1e-6
  end

  def rows_that_differ(raw)
    columns = GC::SampleProfile.raw_columns
    parts = Hash.new(0.0)
    raw[:kept].each_slice(5) { |row, _, _, space,| parts[row] += space }
    raw[:rows].each_index.reject do |index|
      row = raw[:rows][index]
      all = row[columns[:inuse_space]] + row[columns[:young_space]]
      (all - parts[index]).abs <= all * 1e-9 + 1e-6
    end
  end
end
