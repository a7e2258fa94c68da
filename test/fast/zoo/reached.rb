# frozen_string_literal: true

require "json"

# How many verdicts on the recorded series were right when somebody last looked: the number may not fall.
class Reached
  FILE = File.join(__dir__, "reached.json")

  def initialize(file = FILE)
    @numbers = File.exist?(file) ? JSON.parse(File.read(file)) : {}
    @file = file
  end

  def [](name) = @numbers.fetch(name, 0)

  # A limit from above: that many healthy programs were called a leak.
  def alarms = @numbers.fetch("alarms", 0)

  def keep(score)
    numbers = score.shares.transform_values(&:first).merge("alarms" => score.alarms.size)
    File.write(@file, "#{JSON.pretty_generate(numbers)}\n")
  end
end
