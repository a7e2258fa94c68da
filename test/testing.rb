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
require "open3"

# The name of a test is a sentence about behaviour.
class Test < Minitest::Test
  # SLOW=1 repeats simulations and random damage as often as it takes to see rare errors.
  SLOW = ENV["SLOW"] == "1"
  # For `missing:` of a test that takes long and whose result is the same on all Rubies, where test/check/on_rubies runs two.
  ONCE = ("runs on the newer Ruby" if ENV["OLDER_OF_TWO"] == "1" && !SLOW)

  # A test that needs more than this machine may have: `unless_met` says what is missing, or is nil.
  def self.test(name, missing: nil, &block)
    method = "test_#{name}"
    raise ArgumentError, "#{self} has two tests #{name.inspect}" if method_defined?(method, false)

    define_method(method, &(missing ? -> { skip(missing) } : block))
  end

  # A statement about what was measured before the tests run, and its figures.
  def self.measured(name, holds, figures)
    test(name) do
      note figures
      assert holds
    end
  end

  NOTES = Hash.new { |notes, test| notes[test] = [] }

  # Figures that are printed below the test, whether or not it passes.
  def note(text) = NOTES[[self.class.name, name]].concat(text.to_s.lines(chomp: true))

  # Within a tolerance that is relative above 1, and absolute below.
  def assert_close(expected, actual, tolerance = 1e-9)
    assert_in_delta expected, actual, tolerance * [expected.abs, 1].max
  end

  # What the tests of a class share, such as a server: made when the first test needs it, and ended after the last test.
  # The block gets a procedure, passes what is shared to it, and then ends it. Not for tests that run in parallel.
  #
  #   shared(:server) { |share| server { |it| share.call(it) } }
  def self.shared(name, &block)
    value = nil
    define_method(name) do
      value ||= Fiber.new { instance_exec(->(made) { Fiber.yield([made]) }, &block) }.then do |fiber|
        fiber.resume.tap { Test.end_last(fiber) }
      end
      value.first
    end
  end

  SHARED = []

  def self.end_last(fiber)
    Minitest.after_run { end_shared } if SHARED.empty?
    SHARED << fiber
  end

  # Ends each, the last one first, also where one raises.
  def self.end_shared
    SHARED.pop.resume
  ensure
    end_shared if SHARED.any?
  end

  # Raised with a message that matches; the error.
  def assert_error(type, pattern, &)
    assert_raises(type, &).tap { |error| assert_match pattern, error.message }
  end

  # The command succeeds; returns what it prints, stderr too.
  def assert_success(*command, **options)
    printed, status = Open3.capture2e(*command.map { |part| part.is_a?(Hash) ? part : part.to_s }, **options)
    assert status.success?, "#{command.join(" ")}: #{status}\n#{printed}"
    printed
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
  ARGV.replace(options)
  files.each { |file| require File.expand_path(file) }
end
require "minitest/autorun"
