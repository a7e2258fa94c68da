# frozen_string_literal: true

require 'fileutils'
require 'tmpdir'
require_relative 'results'

# Some of MRI's tests that are run together. A subclass for each of MRI's two harnesses knows how.
class Part
  # Longer than any of them takes on a busy machine, at interval=1.
  LIMIT = 1800

  attr_reader :name, :files

  def initialize(name, files)
    @name = name
    @files = files
  end

  # Settings (RUBY_HEAP_SAMPLE) of the configurations that compare with the stock build.
  def configurations = { 'off' => nil, 'on' => 'interval=1,max-samples=none,malloc=4k,output=none' }

  # -> Results. ONLY: these tests, which may bring others along.
  def run(build, setting, only: nil)
    Dir.mktmpdir('mri-tests') do |dir|
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      log = "#{dir}/log"
      # The run gets a TMPDIR of its own, which takes with it what its tests leave behind.
      FileUtils.mkdir("#{dir}/tmp")
      env = { 'RUBY_HEAP_SAMPLE' => setting, 'TMPDIR' => "#{dir}/tmp", 'MRI_RECORD' => "#{dir}/record",
              'MRI_SOURCE' => build.src, 'RUBYOPT' => nil, 'RUBYLIB' => nil, 'RUBY' => nil, 'MAKEFLAGS' => nil,
              'RUBY_TEST_TIMEOUT_SCALE' => ENV.fetch('RUBY_TEST_TIMEOUT_SCALE', '2') }
      status = execute(env, command(build, only), build.obj, log)
      output = File.binread(log)
      results = read(output, "#{dir}/record")
      results.seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      results.broken = "#{status}\n#{output.lines.last(60).join}" unless complete?(output)
      results
    end
  end

  private

  # -> how the process ended, in words.
  def execute(env, command, directory, log)
    pid = spawn(env, *command, chdir: directory, in: File::NULL, out: log, err: [:child, :out], pgroup: true)
    waiter = Process.detach(pid)
    return waiter.value.inspect if waiter.join(LIMIT)
    "killed after #{LIMIT} s"
  ensure
    # What the tests left running, and all of them if this program is interrupted.
    Process.kill(:KILL, -pid) rescue Errno::ESRCH
    waiter&.join
  end
end

# test-all.
class TestAll < Part
  # NOT: patterns of tests to leave out.
  def initialize(name, files, not_tests)
    super(name, files)
    @names = not_tests.map { |pattern| "--name=!/#{pattern.source}/" }
  end

  private

  def command(build, only)
    names = only ? ["--name=/\\A(?:#{only.map { |t| Regexp.escape(t).gsub('/', '.') }.join('|')})\\z/"] : @names
    runruby = build.runruby
    [*runruby, "-r#{build.src}/tool/lib/_tmpdir", "-r#{File.join(__dir__, 'recorder.rb')}",
     "#{build.src}/test/runner.rb", "--ruby=#{runruby.join(' ')}", "--excludes-dir=#{build.src}/test/.excludes",
     *names, '--seed=1', '-v', '--tty=no', '--color=never', '--', *files]
  end

  def read(_output, record)
    File.file?(record) ? Results.read(record) : Results.new
  end

  def complete?(output) = output.match?(/^\d+ tests, \d+ assertions, /n)
end

# The tests whose results depend on memory use or on time, at an interval of everyday use.
class ListedTests < TestAll
  def initialize(name, files, tests)
    super(name, files, [])
    @names = tests.map { |pattern| "--name=/#{pattern.source}/" }
  end

  def configurations = { 'off' => nil, 'on' => 'interval=64k,output=none' }
end

# bootstraptest: each test a script for a new process; a test has no name but its line.
class BootstrapTest < Part
  private

  def command(build, only)
    only_files = only&.map { |test| test[/[^:]+/] }
    tests = only_files ? files.select { |f| only_files.include?(File.basename(f)) } : files
    [*build.runruby, "#{build.src}/bootstraptest/runner.rb", "--ruby=./ruby -I#{build.src}/lib --disable-gems",
     '-v', '--color=never', *tests.map { |f| "#{build.src}/bootstraptest/#{f}" }]
  end

  # "#12 test_gc.rb:3 . 0.12" as they run, "#12 test_gc.rb:3: message" at the end for a failure. Several
  # tests may stand on one line: the second gets " (2)".
  def read(output, _record)
    results = Results.new
    names = {}
    output.scan(/^#(\d+) (\S+\.rb:\d+) (?:[.FE] ([\d.]+))?/n) do |id, line, seconds|
      nth = names.each_value.count { |n| n[/\S+/] == line } + 1
      names[id] = nth == 1 ? line : "#{line} (#{nth})"
      results.add(names[id], Results::Outcome.new('pass', seconds.to_f, ''))
    end
    output.split(/^(?=#\d+ \S+\.rb:\d+: )/n).drop(1).each do |message|
      results.add(names.fetch(message[/\d+/]), Results::Outcome.new('fail', 0.0, message))
    end
    results
  end

  def complete?(output) = output.match?(/^(?:PASS all|FAIL \d+\/)/n)
end
