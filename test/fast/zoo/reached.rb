# frozen_string_literal: true

require "json"

# How good the diagnosis was on the recorded series when somebody last looked: how many were right, which may not get fewer,
# and how many faults of each kind there were, which may not get more.
class Reached
  FILE = File.join(__dir__, "reached.json")

  attr_reader :right, :faults

  def self.read = new(**JSON.parse(File.read(FILE), symbolize_names: true).transform_values { |numbers| numbers.transform_keys(&:to_s) })

  def self.of(score)
    new(right: score.shares.transform_values(&:first),
        faults: { "healthy programs called a leak" => score.alarms.size, "right verdicts that evidence made weaker" => score.weakened.size })
  end

  def initialize(right:, faults:)
    @right = right
    @faults = faults
  end

  def keep = File.write(FILE, "#{JSON.pretty_generate(right: right, faults: faults)}\n")
end
