# frozen_string_literal: true

require 'digest'
require 'fileutils'
require 'tmpdir'
require_relative 'results'

# Some of MRI's tests that are run together. A subclass for each of MRI's harnesses knows how.
class Part
  # Longer than any of them takes on a busy machine, at interval=1.
  LIMIT = 3600
  # For tests with a time limit of their own; the stock build has it too.
  TIMEOUT_SCALE = ENV.fetch('RUBY_TEST_TIMEOUT_SCALE', '5')
  # Raise it when tests are run, or the output is read, another way: what build/mri holds is then of no use.
  FORMAT = 1

  attr_reader :name, :files

  def initialize(name, files)
    @name = name
    @files = files
  end

  # What a configuration means to these tests; nil: nothing to run.
  def setting(configuration) = configuration

  # Are the results of this test to be compared?
  def compares?(_test, _configuration) = true

  # Names a way to run these tests: other tests, settings, hooks or another user, other results.
  def key(configuration)
    hooks = Dir["#{__dir__}/{recorder.rb,*_hooks.*}"].sort.map { |f| File.read(f) }
    Digest::SHA256.hexdigest([self.class::FORMAT, Process.euid, TIMEOUT_SCALE, hooks, inputs(configuration), configuration.environment].inspect)[0, 12]
  end

  # -> Results. ONLY: these tests, which may bring others along.
  def run(build, configuration, only: nil)
    Dir.mktmpdir('mri-tests') do |dir|
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      log = "#{dir}/log"
      # The run gets a TMPDIR of its own, which takes with it what its tests leave behind.
      FileUtils.mkdir("#{dir}/tmp")
      env = { 'TMPDIR' => "#{dir}/tmp", 'SPEC_TEMP_DIR' => "#{dir}/tmp/spec", 'MRI_RECORD' => "#{dir}/record",
              'MRI_SOURCE' => build.src, 'RUBYLIB' => nil, 'RUBY' => nil, 'MAKEFLAGS' => nil,
              'RUBY_TEST_TIMEOUT_SCALE' => TIMEOUT_SCALE, **configuration.environment }
      env['RUBYOPT'] = env['RUBYOPT']&.gsub('%', __dir__)
      status = execute(env, command(build, configuration, only), build.obj, log)
      output = File.binread(log)
      results = read(output, "#{dir}/record")
      results.seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      results.broken = "#{status}\n#{output.lines.last(60).join}" unless complete?(output)
      results
    end
  end

  private

  # What is run, for the key.
  def inputs(_configuration) = [self.class.name, files]

  # -> how the process ended, in words.
  def execute(env, command, directory, log)
    pid = spawn(env, *command, chdir: directory, in: File::NULL, out: log, err: [:child, :out], pgroup: true)
    waiter = Process.detach(pid)
    in_time?(waiter, env['MRI_RECORD']) ? waiter.value.inspect : 'killed, since it took too long'
  ensure
    # What the tests left running, and all of them if this program is interrupted.
    Process.kill(:KILL, -pid) rescue Errno::ESRCH
    waiter&.join
  end

  # Waits for the end of the process. RECORD: what it has written of its tests (recorder.rb).
  def in_time?(waiter, _record) = waiter.join(LIMIT)

  # Of harnesses that we hook.
  def read(_output, record) = File.file?(record) ? Results.read(record) : Results.new
end

# test-all.
class TestAll < Part
  # LISTED: tests to leave out of some configurations.
  def initialize(name, files, listed)
    super(name, files)
    @listed = listed
  end

  def compares?(test, configuration) = left_out(configuration).none? { |entry| entry.pattern.match?(test) }

  private

  # The stock build, and ours with the sampler off, run all.
  def left_out(configuration)
    configuration.sampling ? @listed.select { |entry| entry.covers?(configuration) } : []
  end

  # The harness's options that choose among the tests of the files.
  def selection(configuration) = left_out(configuration).map { |entry| "--name=!/#{entry.pattern.source}/" }

  def inputs(configuration) = [*super, selection(configuration)]

  def command(build, configuration, only)
    names = only ? ["--name=/\\A(?:#{only.map { |t| Regexp.escape(t).gsub('/', '.') }.join('|')})\\z/"] : selection(configuration)
    runruby = build.runruby
    [*runruby, "-r#{build.src}/tool/lib/_tmpdir", "-r#{File.join(__dir__, 'test_all_hooks.rb')}",
     "#{build.src}/test/runner.rb", "--ruby=#{runruby.join(' ')}", "--excludes-dir=#{build.src}/test/.excludes",
     *names, '--seed=1', '-v', '--tty=no', '--color=never', '--', *files]
  end

  def complete?(output) = output.match?(/^\d+ tests, \d+ assertions, /n)
end

# Tests of test-all whose results depend on memory use or on time, at an interval of everyday use, where
# other parts leave them out.
class ListedTests < TestAll
  def setting(configuration) = (configuration.at_64k if left_out(configuration).any?)

  def compares?(test, configuration) = !super

  private

  def selection(configuration)
    entries = configuration.sampling ? left_out(configuration) : @listed
    entries.map { |entry| "--name=/#{entry.pattern.source}/" }
  end
end

# bootstraptest: each test a script for a new process; a test has no name but its line.
class BootstrapTest < Part
  private

  def command(build, _configuration, only)
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
    seen = Hash.new(0)
    output.scan(/^#(\d+) (\S+\.rb:\d+) (?:[.FE] ([\d.]+))?/n) do |id, line, seconds|
      nth = seen[line] += 1
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

# ruby/spec: an example goes by its file below spec/ruby and its description. With gems, as `make test-spec`
# has it: without, the first spec that loads them leaks their constants.
class Spec < Part
  FORMAT = 2

  private

  def command(build, _configuration, only)
    chosen, *examples = only ? only.map { |test| test.split(' ', 2) }.transpose : [files]
    filter = examples.flatten.grep_v(/\A\(outside/).flat_map { |e| ['-e', e] }
    fake = Dir.glob('*-fake.rb', base: build.obj).fetch(0)
    [*build.runruby - ['--disable-gems'], "-r./#{fake}", "-r#{build.src}/tool/lib/_tmpdir", "#{build.src}/spec/mspec/bin/mspec-run",
     '-B', File.join(__dir__, 'spec_hooks.mspec'), *filter, *chosen.uniq.map { |f| "#{build.src}/spec/ruby/#{f}" }]
  end

  def complete?(output) = output.match?(/^\d+ files?, \d+ examples?, /n)
end
