# frozen_string_literal: true

require "json"

# How good the diagnosis was on the recorded series when somebody last looked: how many were right, which may not get fewer,
# and how many faults of each kind there were, which may not get more.
class Reached
  FILE = File.join(__dir__, "reached.json")

  attr_reader :right, :faults

  def self.read = new(**JSON.parse(File.read(FILE), symbolize_names: true).transform_values { |numbers| numbers.transform_keys(&:to_s) })

  def self.of(score)
    lines, leaks = score.shares["lines right, of the leaks"]
    new(right: score.shares.transform_values(&:first),
        faults: { "wrong lines of leaks" => leaks - lines, "healthy programs called a leak" => score.alarms.size,
                  "growing programs called fine" => score.wrong.size, "leaks taken back" => score.taken_back.size })
  end

  def initialize(right:, faults:)
    @right = right
    @faults = faults
  end

  # Yields of each number its name, whether it is no worse than it was, and the figures.
  def since(before)
    right.each { |name, now| yield "#{name}: not fewer than before", now >= before.right[name], "#{now}, #{before.right[name]} before" }
    faults.each { |name, now| yield "#{name}: not more than before", now <= before.faults[name], "#{now}, #{before.faults[name]} before" }
  end

  def keep = File.write(FILE, "#{JSON.pretty_generate(right: right, faults: faults)}\n")
end
