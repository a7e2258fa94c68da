# frozen_string_literal: true

# The sampler's own tests in MRI's harness, under qemu-user: TAP, a line for each test. What qemu cannot do is skipped, by
# name and with the reason.
# Usage: main.rb WRAPPER OBJ NAME…      WRAPPER runs the Ruby that was built in OBJ; test_heap_sampler_NAME.rb

require_relative '../../tap'
require_relative '../mri/build'
require_relative '../mri/configuration'
require_relative '../mri/part'

# A test, or all of a file, and why it cannot run.
LeftOut = Struct.new(:pattern, :reason)
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

# All of a file that qemu can run.
class UnderQemu < TestAll
  private

  def left_out(_configuration) = LEFT_OUT
end

wrapper, obj, *names = ARGV
build = CrossBuild.new(wrapper, obj)
overlay = File.expand_path('../../../src/test', __dir__)
names.each do |name|
  file = Dir.glob("{ruby,-ext-,objspace}/**/test_heap_sampler_#{name}.rb".sub('_sampler_sampler', '_sampler'), base: overlay).fetch(0)
  results = UnderQemu.new(name, [file], []).run(build, Configuration.new('own'))
  results.outcomes.each do |test, outcome|
    case outcome.status
    when 'pass' then Tap.report(true, "#{name}: #{test}")
    when 'skip' then Tap.skip("#{name}: #{test}", outcome.message.lines.first.to_s.chomp.sub(/\A[\w:]+: /, ''))
    else Tap.report(false, "#{name}: #{test}", outcome.message.b.lines(chomp: true))
    end
  end
  Tap.report(false, "#{name}: runs to its end", results.broken.b.lines(chomp: true)) if results.broken
  Tap.report(results.tests.any?, "#{name}: has tests that qemu can run")
  own = File.read("#{overlay}/#{file}")
  own.scan(/^class (\w+)|^  def (test_\w+)/).then { |found|
    suite = nil
    found.each { |klass, test| klass ? suite = klass : LEFT_OUT.each { |l| Tap.skip("#{name}: #{suite}##{test}", l.reason) if l.pattern.match?("#{suite}##{test}") } }
  }
end
Tap.finish
