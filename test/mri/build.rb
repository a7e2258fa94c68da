# frozen_string_literal: true

require 'digest'

# A built MRI: its objects (where tests find the extensions they need) and its source, both found
# from the path of the installed ruby as tool/build lays them out.
class Build
  attr_reader :obj, :src

  def initialize(ruby)
    @obj = [File.expand_path('../../obj', File.dirname(ruby)), *ENV['OBJ']].find { |d| File.file?("#{d}/Makefile") }
    raise "no objects of #{ruby}: build it with tool/build" unless @obj
    @src = File.expand_path(File.read("#{@obj}/Makefile")[/^srcdir *= *(\S+)/, 1], @obj)
  end

  # Names what is tested: another build, other results.
  def key
    @key ||= Digest::SHA256.new.tap { |sum|
      ["#{obj}/ruby", *Dir["#{src}/{test,bootstraptest}/**/*heap_sampler*"].sort].each { |f| sum.file(f) if File.file?(f) }
    }.hexdigest[0, 16]
  end

  # What `make test-all` and `make btest-ruby` run the built ruby with.
  def runruby
    %W[./miniruby -I#{src}/lib -I. -I.ext/common #{src}/tool/runruby.rb --extout=.ext -- --disable-gems]
  end

  # The files that NAMES (files, folders, patterns below test/) stand for; without our own tests,
  # which the other build lacks.
  def test_files(names)
    names.flat_map { |name|
      found = Dir.glob(name, base: "#{src}/test").sort.flat_map { |path|
        File.directory?("#{src}/test/#{path}") ? Dir.glob("#{path}/**/test_*.rb", base: "#{src}/test").sort : path
      }
      found.empty? ? raise("no such tests: #{name}") : found
    }.uniq.grep_v(/heap_sampler/)
  end
end
