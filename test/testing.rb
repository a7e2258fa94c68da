# frozen_string_literal: true

# Tests in Ruby: minitest, which prints TAP, and waits for nothing but the test that it runs.
#
#   require_relative "../../testing"
#
#   class CountTest < Test
#     test "counts have commas" do
#       assert_equal "1,000", Layout.new.count(1000)
#     end
#   end
#
# A file runs by itself: ruby -I src/lib FILE [-n /PATTERN/] [--seed N]. Several do by `ruby test/testing.rb FILE…`.
require "minitest"

# The name of a test is a sentence about behaviour.
class Test < Minitest::Test
  # SLOW=1 repeats simulations and random damage as often as it takes to see rare errors.
  SLOW = ENV["SLOW"] == "1"

  # A test that needs more than this machine may have: `unless_met` says what is missing, or is nil.
  def self.test(name, missing: nil, &block)
    method = "test_#{name}"
    raise ArgumentError, "#{self} has two tests #{name.inspect}" if method_defined?(method, false)

    define_method(method, &(missing ? -> { skip(missing) } : block))
  end

  NOTES = Hash.new { |notes, test| notes[test] = [] }

  # Figures that are printed below the test, whether or not it passes.
  def note(text) = NOTES[[self.class.name, name]].concat(text.to_s.lines(chomp: true))

  # Within a tolerance that is relative above 1, and absolute below.
  def assert_close(expected, actual, tolerance = 1e-9)
    assert_in_delta expected, actual, tolerance * [expected.abs, 1].max
  end

  # Raised with a message that matches; the error.
  def assert_error(type, pattern, &)
    assert_raises(type, &).tap { |error| assert_match pattern, error.message }
  end
end

# Prints TAP as tests end.
class TapReporter < Minitest::AbstractReporter
  def initialize(io)
    super()
    @io = io
    @count = @failed = 0
  end

  def start = @io.sync = true

  def record(result)
    @count += 1
    @failed += 1 unless result.passed? || result.skipped?
    @io.puts "#{"not " unless result.passed? || result.skipped?}ok #{@count} - #{result.name.delete_prefix("test_")}" \
             "#{" # SKIP #{result.failure.message.lines.first.chomp}" if result.skipped?}",
             *comments(result)
  end

  def report = @io.puts("# seed #{Minitest.seed}", "1..#{@count}")
  def passed? = @failed.zero? && @count.positive?

  private

  def comments(result)
    said = result.skipped? ? [] : result.failures.flat_map { |failure| explanation(failure) }
    [*said, *Test::NOTES.delete([result.klass, result.name])].map { |line| "# #{line}" }
  end

  def explanation(failure)
    return [*failure.message.lines(chomp: true), "at #{failure.location}"] unless failure.is_a?(Minitest::UnexpectedError)

    error = failure.error
    ["#{error.class}: #{error.message}".lines(chomp: true), error.backtrace.grep_v(%r{/minitest}).first(6)].flatten
  end
end

module Minitest
  def self.plugin_tap_init(_options)
    reporter.reporters.replace([TapReporter.new($stdout)])
  end
end
Minitest.extensions << "tap"

if $PROGRAM_NAME == __FILE__
  $LOADED_FEATURES << File.expand_path(__FILE__)
  files, options = ARGV.partition { |argument| File.file?(argument) }
  files.each { |file| require File.expand_path(file) }
  exit Minitest.run(options)
else
  require "minitest/autorun"
end
