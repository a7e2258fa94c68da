# frozen_string_literal: true

# How the tests of one run ended: test => Outcome. Kept on disk as lines of tabs.
class Results
  Outcome = Struct.new(:status, :seconds, :message)
  # Of two records of one test (itself, its teardown) the worse one stands.
  RANK = %w[pass skip fail died].freeze

  # Tests that a run did not reach.
  MISSING = Outcome.new('missing', 0.0, 'not run').freeze

  attr_reader :outcomes
  # nil, or how the process ended that should have run them all.
  attr_accessor :broken
  attr_accessor :seconds

  def initialize
    @outcomes = {}
    @broken = nil
    @seconds = 0.0
  end

  def self.read(file)
    new.tap do |results|
      File.foreach(file, encoding: 'BINARY', chomp: true) do |line|
        status, test, seconds, message = line.split("\t", 4)
        case status
        when 'took' then results.seconds = test.to_f
        when 'start' then results.add(test, Outcome.new('died', 0.0, 'started, and never ended'))
        else results.add(test, Outcome.new(status, seconds.to_f, message.to_s.empty? ? '' : message.undump))
        end
      end
    end
  end

  def write(file)
    text = outcomes.map { |test, o| [o.status, test, format('%.2f', o.seconds), o.message.dump].join("\t") }
    File.write("#{file}.new", [*text, "took\t#{format('%.1f', seconds)}"].join("\n") << "\n")
    File.rename("#{file}.new", file)
  end

  def add(test, outcome)
    known = @outcomes[test]
    @outcomes[test] = outcome if !known || known.status == 'died' || RANK.index(outcome.status) > RANK.index(known.status)
  end

  def [](test) = @outcomes.fetch(test, MISSING)
  def tests = @outcomes.keys
  def count(*statuses) = @outcomes.count { |_, o| statuses.include?(o.status) }

  def to_s
    "#{tests.size} tests, #{count('fail', 'died')} failures, #{count('skip')} skipped, #{seconds.round} s"
  end
end
