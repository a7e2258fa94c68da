# frozen_string_literal: true

# Do estimates stay right while interval=auto moves, in a process with a job and with GCs?
#
# In each life the process works without allocating much, then allocates fast, several times. Some of what it makes
# stays, the rest is freed.
# Usage: [TRIALS=2000] ruby moving_trials.rb     a life is worth 30 trials
require_relative "../../testing"
require_relative "judging"
require "heapsample"

LIVES = Integer(ENV["TRIALS"] || 2000) / 30
class Kept; end
class Gone; end
FIGURES = { "live" => ["Kept", %i[inuse young]], "allocated" => ["Gone", %i[alloc]], "freed" => ["Gone", %i[freed young]] }.freeze

def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def interval = GC::SampleProfile.stat[:interval]

class Life
  attr_reader :kept, :gone, :moves

  def initialize
    @kept = []
    @gone = @moves = 0
    GC::SampleProfile.stop
    GC::SampleProfile.start(interval: "auto", malloc: false)
    3.times do
      phase(0.5, 300, 0.005) { interval <= 64 << 10 }
      phase(0.3, 20_000, 0) { interval >= 256 << 10 }
    end
    GC.start
    @profile = GC.sample_profile.to_profile
    @moves = @profile.info.interval_changes
  end

  # Estimate and variance, objects.
  def figure(class_name, values)
    rows = @profile.rows.select { |row| row.class_name == class_name && row.slot_size == 40 }
    estimates = rows.flat_map { |row| values.map { |value| row.public_send(value) } }
    [estimates.sum(&:objects), estimates.sum(&:variance) / 1600.0]
  end

  def truth = { "live" => @kept.size, "allocated" => @gone, "freed" => @gone }

  private

  # For so many seconds at most, until the block is content: makes objects, then works for a while.
  def phase(seconds, objects, work)
    until_time = cpu + seconds
    until yield || cpu > until_time
      objects.times { |i| i % 10 == 0 ? @kept << Kept.new : Gone.new }
      @gone += objects - (objects + 9) / 10
      from = cpu
      nil until cpu >= from + work
    end
  end
end

class MovingIntervalsTest < Test
  include Judging

  # [truth, figures, how often the interval moved]
  def self.lives
    @lives ||= Array.new(LIVES) { Life.new.then { |life| [life.truth, FIGURES.transform_values { |what| life.figure(*what) }, life.moves] } }
  end

  test "the interval moves in each life, both ways" do
    moves = self.class.lives.map(&:last)
    assert_operator moves.min, :>=, 2
    assert_operator moves.sum, :>=, 4 * LIVES
  end

  FIGURES.each_key do |name|
    test "while the interval moves, what is #{name} is unbiased, its spread is what profiles state, and intervals hold the truth" do
      errors = self.class.lives.map { |truth, found| found[name][0] - truth[name] }
      variances = self.class.lives.map { |_, found| found[name][1] }
      # By what the profiles state: of ten lives' own spread no z would be above 3.2.
      assert_unbiased errors.sum, 0, Math.sqrt(variances.sum)
      assert_ratio "spread", Math.sqrt(errors.zip(variances).sum { |error, of| error**2 / of } / LIVES), Bounds.spread(LIVES)
      inside = errors.zip(variances).count { |error, of| error.abs < 1.96 * Math.sqrt(of) }
      assert_operator inside, :>=, Bounds.fewest(LIVES, 0.93)
    end
  end
end
