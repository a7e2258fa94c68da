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

  # Names what is tested, the same in every checkout: another source or other flags, other results.
  # What tool/build built has the key of that; what was made by hand, the executable's.
  def key
    @key ||= Digest::SHA256.hexdigest(by_tool? ? built.grep_v(/prefix/).join : File.binread("#{obj}/ruby"))[0, 16]
  end

  # What `make test-all`, `make btest-ruby` and `make test-spec` run the built ruby with.
  def runruby
    %W[./miniruby -I#{src}/lib -I. -I.ext/common #{src}/tool/runruby.rb --extout=.ext -- --disable-gems]
  end

  # The files that NAMES (files, folders, patterns below test/) stand for; without our own tests,
  # which the other build lacks.
  def test_files(names) = files('test', names, 'test_*.rb').grep_v(/heap_sampler/)

  def btest_files(names) = files('bootstraptest', names, 'test_*.rb')

  # Those below spec/ruby. Libraries that are bundled gems are left out, as MRI's own configuration does.
  def spec_files(names)
    gems = File.readlines("#{src}/gems/bundled_gems").grep_v(/^#/).map { |l| l[/\S+/] }.compact
    files('spec/ruby', names, '*_spec.rb').reject { |f| gems.include?(f[%r{\Alibrary/([^/]+)/}, 1]) }
  end

  private

  def built = File.readlines("#{obj}/.built")

  def by_tool?
    File.file?("#{obj}/.built") && File.mtime("#{obj}/ruby") <= File.mtime("#{obj}/.built")
  end

  def files(folder, names, pattern)
    names.flat_map { |name|
      found = Dir.glob(name, base: "#{src}/#{folder}").sort.flat_map { |path|
        File.directory?("#{src}/#{folder}/#{path}") ? Dir.glob("#{path}/**/#{pattern}", base: "#{src}/#{folder}").sort : path
      }
      found.empty? ? raise("no such tests: #{name}") : found
    }.uniq
  end
end
