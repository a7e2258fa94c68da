# frozen_string_literal: true

# Runs MRI's own tests on the patched build, sampler off and on, and compares every test's result with
# the stock build's. What differs is run once more, alone, before it counts. Prints TAP, a line for each
# part and configuration.
# Usage: main.rb short|full|PART…          parts: the file `parts`
#
# Environment: TOP, RUBY, STOCK_RUBY (unset: every test must pass), JOBS (parts at a time, 2),
#              CONFIGURATIONS (off on). A check build is its own stock build, with CONFIGURATIONS=on.
# The stock build's results are kept in build/mri; `full` keeps those of the patched build also, and so
# goes on where it was stopped. A part that differed, or ended early, is run again the next time.

require_relative 'build'
require_relative 'comparison'
require_relative 'part'

module MRITests
  HERE = __dir__
  STATE = File.join(ENV.fetch('TOP'), 'build/mri')

  # Rows of a file of columns; the last column is the rest of the line.
  def self.table(file, columns)
    File.readlines(File.join(HERE, file), chomp: true).reject { |l| l.empty? || l.start_with?('#') }
        .map { |line| line.split(/\s+/, columns) }
  end

  # [part, when] of each line of `parts`.
  def self.parts(build)
    listed = table('at-64k', 2).map { |pattern, _reason| Regexp.new(pattern) }
    taken = []
    table('parts', 4).map do |name, harness, speed, tests|
      if harness == 'btest'
        files = Dir.glob(tests.split, base: "#{build.src}/bootstraptest").sort - taken
      elsif harness == 'listed'
        files = build.test_files(%w[*]).select { |f| listed.any? { |p| may_hold?("#{build.src}/test/#{f}", p) } }
      else
        files = build.test_files(tests.split) - taken
      end
      taken.concat(files) unless harness == 'listed'
      part = case harness
             when 'btest' then BootstrapTest.new(name, files)
             when 'listed' then ListedTests.new(name, files, listed)
             else TestAll.new(name, files, listed)
             end
      [part, speed]
    end
  end

  # Does the file define a test of this name? Most test files hold none of the listed ones.
  def self.may_hold?(file, pattern)
    method = pattern.source[/[^#]*\z/]
    File.binread(file).match?(/#{method}/n)
  end

  # Runs parts, or remembers how they ended.
  class Runner
    # Other tests, another way to run them or another user: other results.
    VERSION = Digest::SHA256.hexdigest(
      [Process.euid, *%w[parts at-64k part.rb recorder.rb results.rb].map { |f| File.read(File.join(HERE, f)) }].join("\0")
    )[0, 8]

    def initialize(ours:, stock:, keep_ours:)
      @ours = ours
      @stock = stock
      @keep_ours = keep_ours
      @known_failures = MRITests.table('known-failures', 2).map(&:first)
      @locks = Hash.new { |h, k| h[k] = Mutex.new }
    end

    # -> [differences, diagnostics]
    def compare(part, configuration, setting)
      file = state_file(part, configuration, @ours)
      stock = @stock && locked(part) { remembered(state_file(part, 'stock', @stock)) { part.run(@stock, nil) } }
      ours = @keep_ours ? remembered(file) { part.run(@ours, setting) } : part.run(@ours, setting)
      lines = ["stock: #{stock || 'not built'}", "#{configuration}: #{ours}"]
      [['stock', stock], [configuration, ours]].each do |who, results|
        lines << "#{who} ended early: #{results.broken}" if results&.broken
      end
      found = Comparison.new(stock, ours, @known_failures).confirmed { |test| rerun(part, setting, test) }
      found << Comparison::Difference.new('(no test at all)', nil, Results::MISSING) if ours.tests.empty?
      File.delete(file) if !found.empty? && File.exist?(file)
      [found, lines]
    end

    private

    def rerun(part, setting, test)
      [@stock && part.run(@stock, nil, only: [test]), part.run(@ours, setting, only: [test])]
    end

    # The configurations of a part run at the same time, and share the stock build's results.
    def locked(part, &) = @locks[part.name].synchronize(&)

    def state_file(part, configuration, build)
      File.join(STATE, VERSION, build.key, "#{part.name}.#{configuration}")
    end

    def remembered(file)
      return Results.read(file) if File.exist?(file)
      results = yield
      FileUtils.mkdir_p(File.dirname(file))
      results.write(file) unless results.broken || results.tests.empty?
      results
    end
  end

  # TAP from several threads.
  class TAP
    attr_reader :failed

    def initialize
      @count = 0
      @failed = 0
      @lock = Mutex.new
      $stdout.sync = true
    end

    def report(name, good, lines)
      @lock.synchronize do
        @count += 1
        @failed += 1 unless good
        puts "#{'not ' unless good}ok #{@count} - #{name}"
        lines.each { |line| puts line.b.gsub(/^/n, '# ') }
      end
    end

    def finish
      puts "1..#{@count}"
      @failed.zero?
    end
  end

  def self.report(tap, runner, part, configuration, setting)
    differences, lines = runner.compare(part, configuration, setting)
    differences.first(20).each do |d|
      lines << "#{d.test}: #{d.expected&.status} in stock, #{d.outcome.status} here" << d.outcome.message
    end
    lines << "… and #{differences.size - 20} more" if differences.size > 20
    tap.report("#{part.name} #{configuration}: as in stock", differences.empty?, lines)
  rescue StandardError => e
    tap.report("#{part.name} #{configuration}", false, [e.full_message(highlight: false)])
  end

  def self.chosen(names, build)
    all = parts(build)
    case names
    when ['short'] then all.select { |_, speed| speed == 'short' }.map(&:first)
    when ['full'] then all.map(&:first)
    else
      names.map { |n| all.map(&:first).find { |p| p.name == n } || abort("no part #{n}; known: #{all.map { |p, _| p.name }.join(' ')}") }
    end
  end

  def self.main(names)
    abort "Usage: main.rb short|full|PART…" if names.empty?
    ours = Build.new(ENV.fetch('RUBY'))
    stock = ENV['STOCK_RUBY'] && Build.new(ENV['STOCK_RUBY'])
    runner = Runner.new(ours:, stock:, keep_ours: names == ['full'])
    work = Queue.new
    configurations = ENV.fetch('CONFIGURATIONS', 'off on').split
    chosen(names, stock || ours).each { |part| part.configurations.slice(*configurations).each { |c| work << [part, *c] } }
    work.close
    tap = TAP.new
    # Killed runs leave no children behind: Part#execute ends them.
    %w[TERM INT HUP].each { |signal| trap(signal) { exit 1 } }
    Array.new(Integer(ENV.fetch('JOBS', '2'))) {
      Thread.new { while (job = work.pop) do report(tap, runner, *job) end }
    }.each(&:join)
    exit tap.finish
  end
end

MRITests.main(ARGV)
