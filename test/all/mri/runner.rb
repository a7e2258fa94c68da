# frozen_string_literal: true

require 'fileutils'
require_relative 'comparison'

# Runs parts on our build and on the stock build, and remembers in FOLDER how they ended: in a folder
# for each build, under the part, the configuration and the key of all that went into the run.
class Runner
  # REMEMBER: also of ours, not only of the stock build.
  def initialize(ours:, stock:, folder:, known_failures:, not_compared:, remember:)
    @ours = ours
    @stock = stock
    @folder = folder
    @known_failures = known_failures
    @not_compared = not_compared
    @remember = remember
    @locks = Hash.new { |h, k| h[k] = Mutex.new }
    @locks_lock = Mutex.new
  end

  # What came of a part in one configuration. ALONE: what differed, but not when run by itself.
  Verdict = Struct.new(:stock, :ours, :differences, :alone)

  # One at a time of a part: they share the stock build's results, and what specs compile.
  def compare(part, configuration)
    lock(part).synchronize do
      setting = part.setting(configuration)
      stock = @stock && remembered(file('stock', @stock, part, setting.stock)) { part.run(@stock, setting.stock) }
      name = file('ours', @ours, part, setting)
      ours = @remember ? remembered(name) { part.run(@ours, setting) } : part.run(@ours, setting)
      comparison = Comparison.new(stock, ours, @known_failures) { |test| compares?(part, setting, test) }
      found = comparison.differences
      stay = comparison.confirmed { |test| rerun(part, setting, test) }
      # What neither reached is no difference, but was not tested.
      stay << Comparison::Difference.new('(all tests)', nil, Results::MISSING) if ours.broken || ours.tests.empty?
      Verdict.new(stock, ours, stay, found.map(&:test) - stay.map(&:test))
    end
  end

  private

  def compares?(part, configuration, test)
    part.compares?(test, configuration) &&
      @not_compared.none? { |entry| entry.covers?(configuration) && entry.pattern.match?(test) }
  end

  def lock(part) = @locks_lock.synchronize { @locks[part.name] }

  def rerun(part, setting, test)
    [@stock && part.run(@stock, setting.stock, only: [test]), part.run(@ours, setting, only: [test])]
  end

  def file(whose, build, part, configuration)
    File.join(@folder, "#{whose}-#{build.key}", "#{part.name}.#{configuration.name}.#{part.key(configuration)}")
  end

  # A run that ended early, or was stopped, is not remembered.
  def remembered(file)
    return Results.read(file) if File.exist?(file)
    results = yield
    FileUtils.mkdir_p(File.dirname(file))
    results.write(file) unless results.broken || results.tests.empty?
    results
  end
end
