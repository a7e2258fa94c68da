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

  # Our own tests: the stock build lacks them, so they are not run here.
  OURS = /heap_sampler/

  # Names what is tested, the same in every checkout: another source or other flags, other results. A change of our own
  # tests alone leaves it as it is. What was not built by tool/build is named after its executable.
  def key
    @key ||= Digest::SHA256.hexdigest(by_tool? ? [*flags, *sources].join : File.binread("#{obj}/ruby"))[0, 16]
  end

  # What `make test-all`, `make btest-ruby` and `make test-spec` run the built ruby with.
  def runruby
    %W[./miniruby -I#{src}/lib -I. -I.ext/common #{src}/tool/runruby.rb --extout=.ext -- --disable-gems]
  end

  # The files that NAMES (files, folders, patterns below test/) stand for.
  def test_files(names) = files('test', names, 'test_*.rb').grep_v(OURS)

  def btest_files(names) = files('bootstraptest', names, 'test_*.rb')

  # Those below spec/ruby. Libraries that are bundled gems are left out, as MRI's own configuration does.
  def spec_files(names)
    gems = File.readlines("#{src}/gems/bundled_gems").grep_v(/^#/).map { |l| l[/\S+/] }.compact
    files('spec/ruby', names, '*_spec.rb').reject { |f| gems.include?(f[%r{\Alibrary/([^/]+)/}, 1]) }
  end

  private

  # Was the executable built by tool/build, from the source as it is now?
  def by_tool?
    built = "#{obj}/.built"
    File.file?(built) && File.mtime("#{obj}/ruby") <= File.mtime(built) &&
      File.readlines(built).first == File.read("#{src}/.applied/key")
  end

  # The arguments of configure, with the checksums of Ruby's archive and of jemalloc.
  def flags = File.readlines("#{obj}/.configured").grep_v(/prefix/)

  def sources
    overlay = File.readlines("#{src}/.applied/overlay", chomp: true).grep_v(%r{\Atest/.*#{OURS}})
    [File.read("#{src}/.applied/patches"), *overlay.flat_map { |name| [name, File.binread("#{src}/#{name}")] }]
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
