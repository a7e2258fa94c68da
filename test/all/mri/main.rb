# frozen_string_literal: true

# Runs MRI's own tests on the patched build in several configurations, and compares every test's result
# with the stock build's. What differs is run once more, alone, on both, before it counts. Prints TAP: a
# line for each part and configuration, with what differs and the time it took.
# Usage: main.rb short [PATTERN…] | full | PATTERN…      of a part's name, or PART/CONFIGURATION
#        (the files `parts`, `configurations`)
#
# Environment: TOP, RUBY, STOCK_RUBY (unset: every test must pass), JOBS (parts at a time, 2).
# Results are kept in build/mri, named after the source and flags of the build, the tests and the
# settings: a run that was stopped goes on where it was, a changed build starts anew. `short` runs the
# patched build's every time.

require_relative '../../tap'
require_relative 'build'
require_relative 'part_list'
require_relative 'runner'

module MRITests
  # Differences and failures that are printed for each part.
  SHOWN = 20

  # The time that each configuration took, in all threads.
  class Times
    def initialize
      @seconds = Hash.new(0)
      @lock = Mutex.new
    end

    def add(configuration, seconds) = @lock.synchronize { @seconds[configuration.name] += seconds }
    def print = @seconds.each { |name, seconds| puts format('# %-8s %3d min', name, seconds / 60) }
  end

  def self.report(part, configuration, good, result, lines)
    Tap.report(good, "#{part.name} #{configuration.name}: #{result}", lines.flat_map { |text| text.b.lines(chomp: true) })
  end

  def self.describe(verdict)
    lines = { stock: verdict.stock, here: verdict.ours }.compact.flat_map { |who, results|
      ["#{who}: #{results}", *("#{who} ended early: #{results.broken}" if results.broken)]
    }
    verdict.differences.first(SHOWN).each do |d|
      lines << "#{d.test}: #{d.expected&.status} in stock, #{d.outcome.status} here" << d.outcome.message
    end
    lines << "… and #{verdict.differences.size - SHOWN} more" if verdict.differences.size > SHOWN
    verdict.alone.first(SHOWN).each { |test| lines << "#{test}: differed at first, not alone" }
    lines
  end

  def self.compare(times, runner, part, configuration)
    verdict = runner.compare(part, configuration)
    times.add(configuration, verdict.ours.seconds)
    good = verdict.differences.empty?
    result = good ? 'as in stock' : "#{verdict.differences.size} differ from stock"
    report(part, configuration, good, format('%s, %d s', result, verdict.ours.seconds), describe(verdict))
  rescue StandardError => e
    report(part, configuration, false, 'not run', [e.full_message(highlight: false)])
  end

  def self.main(names)
    abort "Usage: main.rb short [PATTERN…] | full | PATTERN…" if names.empty?
    ours = Build.new(ENV.fetch('RUBY'))
    stock = ENV['STOCK_RUBY'] && Build.new(ENV['STOCK_RUBY'])
    list = PartList.new(stock || ours)
    short = names.first == 'short' && names.shift
    chosen = list.matching(names.empty? || names == ['full'] ? ['*'] : names)
    chosen &= list.short if short
    runner = Runner.new(ours:, stock:, folder: File.join(ENV.fetch('TOP'), 'build/mri'),
                        known_failures: PartList.known_failures, not_compared: PartList.listed('not-compared'), remember: !short)
    work = Queue.new
    chosen.each { |pair| work << pair }
    work.close
    times = Times.new
    # Killed runs leave no children behind: Part#execute ends them.
    %w[TERM INT HUP].each { |signal| trap(signal) { exit 1 } }
    Array.new(Integer(ENV.fetch('JOBS', '2'))) {
      Thread.new { while (pair = work.pop) do compare(times, runner, *pair) end }
    }.each(&:join)
    times.print
    Tap.finish
  end
end

MRITests.main(ARGV)
