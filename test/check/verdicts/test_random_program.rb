# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../zoo/header"
require_relative "../../zoo/random_program"

# Programs that are drawn from a seed (test/zoo/random) are Ruby, and their headings are as the judge reads them.
class RandomProgramTest < Test
  SEEDS = (1..60)

  def headers = @headers ||= SEEDS.to_h { |seed| RandomProgram.new(seed).then { |program| [program, Header.new("#{program.name}.rb", program.to_s)] } }

  test "a seed makes the same program again" do
    assert_equal RandomProgram.new(3).to_s, RandomProgram.new(3).to_s
    assert_equal SEEDS.size, SEEDS.map { |seed| RandomProgram.new(seed).to_s }.uniq.size
  end

  test "each is Ruby" do
    SEEDS.each { |seed| RubyVM::InstructionSequence.compile(RandomProgram.new(seed).to_s) }
  end

  test "the heading says whether it leaks, and marks the lines and the holders of what leaks alone" do
    headers.each do |program, header|
      assert_equal program.leaks? ? "leak" : "steady", header.kind
      assert_equal program.leaks?, header.lines.any?, program.name
      assert_equal program.leaks?, header.keepers.any?, program.name
    end
    assert_equal 2, headers.keys.map(&:leaks?).uniq.size
  end

  test "leaks are 1 KiB/s to 10 MiB/s in each process, and what fills has a time by which it is full" do
    leaking, healthy = headers.keys.partition(&:leaks?)
    assert(leaking.all? { |program| program.rate.between?(200, 2 * 12 * RandomProgram::MIB) })
    assert(healthy.all? { |program| program.settles.between?(program.parts.any? ? 1 : 0, RandomProgram::SECONDS) })
  end

  test "the rate is an average over the run, under any load" do
    full = ->(program) { program.parts.select { |part| part.kind == :leak }.sum(&:rate) }
    steady, rising = headers.keys.select(&:leaks?).then { |all| ["_second", "second / "].map { |text| all.select { |program| program.load.include?(text) } } }
    assert(steady.any? && steady.all? { |program| (program.rate / full.(program)).round.between?(1, 2) })
    assert(rising.any? && rising.all? { |program| [0.75, 1.5].any? { |share| (program.rate / full.(program) - share).abs < 0.02 } })
  end
end
