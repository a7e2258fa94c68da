# frozen_string_literal: true

require_relative "service"
require_relative "trial"

# Sums of trials, by shape and in all.
class VerdictScore
  # One line: counts of runs, by the truth of the shape.
  class Sums
    COUNTS = %i[runs early wrong anew false_growth ended_late judged_after
                runs20 leak20 grows20 runs60 leak60 grows60 found grows taken_back looks all_clears all_clear_runs].freeze
    attr_reader(*COUNTS)

    def initialize = COUNTS.each { |name| instance_variable_set(:"@#{name}", 0) }

    def add(trial)
      count(:runs)
      trial.series.truth == :healthy ? add_healthy(trial) : add_growing(trial)
      self
    end

    def share(count, of = :runs) = public_send(of).zero? ? nil : 100.0 * public_send(count) / public_send(of)
    def to_h = COUNTS.to_h { |name| [name, public_send(name)] }

    private

    def count(name, by = 1) = instance_variable_set(:"@#{name}", public_send(name) + by)

    def add_healthy(trial)
      %i[early wrong anew false_growth judged_after].each { |name| count(name) if trial.public_send(:"#{name}?") }
      count(:ended_late) if trial.outlived?
    end

    def add_growing(trial)
      [20, 60].each do |points|
        state = trial.after(points) or next
        count(:"runs#{points}")
        count(:"leak#{points}") if state == :leak
        count(:"grows#{points}") if Trial::GROWS.include?(state)
      end
      count(:found) if trial.found?
      count(:grows) if trial.states.intersect?(Trial::GROWS)
      count(:taken_back) if trial.taken_back?
      all_clears = trial.false_all_clears
      count(:looks, trial.looks)
      count(:all_clears, all_clears.size)
      count(:all_clear_runs) if all_clears.any?
    end
  end

  attr_reader :runs, :seed, :points, :shapes

  # +verdict+: a block that makes the verdict of a series.
  def initialize(runs:, seed:, points: 64, shapes: Service.names, &verdict)
    @runs, @seed, @points, @verdict = runs, seed, points, verdict
    @shapes = shapes.to_h { |name| [name, Sums.new] }
  end

  # Yields each trial, if a block is given.
  def run
    shapes.each do |name, sums|
      runs.times do |run|
        series = Service.series(name, seed * 1_000_003 + run, points: points)
        trial = Trial.new(series, @verdict.call(series))
        sums.add(trial)
        yield trial if block_given?
      end
    end
    self
  end

  # The sums of all shapes of a truth.
  def all(truth)
    sums = Sums.new
    of(truth).each_value { |each| each.to_h.each { |name, count| sums.instance_variable_set(:"@#{name}", sums.public_send(name) + count) } }
    sums
  end

  def of(truth) = shapes.select { |name, _| Service.truth_of(name) == truth }

  def to_h
    { runs: runs, seed: seed, points: points, shapes: shapes.transform_values(&:to_h), all: Service::SHAPES.keys.to_h { |truth| [truth, all(truth).to_h] } }
  end
end
