# frozen_string_literal: true

# The sampler's own tests in MRI's harness, under qemu-user: TAP, a line for each test, and the sums of each file. What
# qemu cannot do is skipped, by name and with the reason (left_out).
# Usage: main.rb WRAPPER OBJ NAME…      WRAPPER runs the Ruby that was built in OBJ; test_heap_sampler_NAME.rb
#
# Environment: JOBS  so many files at the same time (2)

require_relative '../../tap'
require_relative '../mri/build'
require_relative '../mri/configuration'
require_relative '../mri/part'

# Tests of a class, and why they cannot run.
LeftOut = Struct.new(:pattern, :reason) do
  def of?(file) = File.read(file).include?("class #{pattern.source[/\A\w+/]} ")
end
LEFT_OUT = File.readlines("#{__dir__}/left_out", chomp: true).grep_v(/\A(#|\z)/).map { |line|
  pattern, reason = line.split(/\s+/, 2)
  LeftOut.new(/#{pattern}/, reason)
}

# The built Ruby itself runs the harness: there is no miniruby of a cross build.
class CrossBuild < Build
  def initialize(wrapper, obj)
    super("#{obj}/../prefix/bin/ruby")
    @wrapper = wrapper
  end

  def runruby = [@wrapper, '--disable-gems']
end

# All of a file that qemu can run. A test that takes too long is stopped with its process; the others run in a new one.
class UnderQemu < TestAll
  LIMIT_OF_TEST = 900

  def run(build, configuration)
    all = Results.new
    loop do
      results = super
      results.outcomes.each do |test, outcome|
        outcome.message = results.broken if outcome.status == 'died'
        all.add(test, outcome)
      end
      all.seconds += results.seconds
      all.broken = results.broken
      return all unless results.broken && results.tests.any?
      @listed = [*LEFT_OUT, LeftOut.new(/\A(?:#{all.tests.map { |t| Regexp.escape(t).gsub('/', '.') }.join('|')})\z/)]
    end
  end

  private

  def left_out(_configuration) = @listed

  # The record grows when a test begins or ends.
  def in_time?(waiter, record)
    started = Time.now
    until waiter.join(1)
      return false if Time.now - (File.file?(record) ? File.mtime(record) : started) > LIMIT_OF_TEST
    end
    true
  end
end

ENV['EMULATED'] = 'yes'          # test_heap_sampler_socket.rb
%w[TERM INT HUP].each { |signal| trap(signal) { exit 1 } }
wrapper, obj, *names = ARGV
build = CrossBuild.new(wrapper, obj)
overlay = File.expand_path('../../../src/test', __dir__)
work = Queue.new(names).close
Array.new(Integer(ENV.fetch('JOBS', '2'))) {
  Thread.new do
    while (name = work.pop)
      file = "ruby/test_heap_sampler_#{name}.rb".sub('_sampler_sampler', '_sampler')
      Tap.results(name, UnderQemu.new(name, [file], LEFT_OUT).run(build, Configuration.new('own')))
      LEFT_OUT.each { |entry| Tap.skip("#{name}: #{entry.pattern.source}", entry.reason) if entry.of?("#{overlay}/#{file}") }
    end
  end
}.each(&:join)
Tap.finish
