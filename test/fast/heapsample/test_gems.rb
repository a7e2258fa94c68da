# frozen_string_literal: true

# The command and its library, as gems and where the library is loaded already.

require "tool"
require "heapsample/version"

SOURCES = %w[-I src/lib -I heapsample/lib].freeze

# What a script prints; it has to end well.
def script(text, *arguments, ruby: OURS, env: {})
  out, status = Open3.capture2e({**CLEAN, **env}, ruby, *arguments, "-e", text)
  flunk(out) unless status.success?
  out
end

test "the Ruby with the sampler has the library as a default gem" do
  out = script("spec = Gem::Specification.find_by_name('heap_sample')\np spec.default_gem?, spec.version.to_s == HeapSample::VERSION, " \
               "spec.files.include?('lib/heap_sample/profile/columns.rb') || spec.files.include?('heap_sample/profile/columns.rb')", "-r", "heap_sample")
  equal("true\ntrue\ntrue\n", out)
end

test "a library that is loaded already is the one that is used, and stays as it is" do
  out = script(<<~'RUBY', "-w", "--disable=gems", *SOURCES)
    GC::SampleProfile.load("/") rescue 0
    top, features = HeapSample::Top, $LOADED_FEATURES.dup
    require "heapsample"
    p HeapSample::Top.equal?(top), (features - $LOADED_FEATURES).empty?, HeapSample::Tool::CLI
    p $LOADED_FEATURES.grep(%r{/heap_sample(?:/|\.rb)}).map { |path| path[%r{.*?(?=/heap_sample)}] }.uniq == [File.expand_path("src/lib")]
  RUBY
  equal("true\ntrue\nHeapSample::Tool::CLI\ntrue\n", out)
end

folder do |dir|
  test "a library of another version is one sentence, with what to do" do
    FileUtils.mkdir_p("#{dir}/other")
    File.write("#{dir}/other/heap_sample.rb", "module HeapSample\n  VERSION = '9.0.0'\nend\n")
    out, err, status = Open3.capture3(CLEAN, READER, "--disable=gems", "-I", "#{dir}/other", "-r", "heap_sample", EXE, "top", "x.pb.gz")
    equal(["", 1, 1], [out, err.count("\n"), status.exitstatus])
    assert(err.match?(%r{\Aheapsample: heapsample #{Regexp.escape(HeapSample::Tool::VERSION)} needs heap_sample 0\.1, but \S+/other/heap_sample\.rb is 9\.0\.0; }), err)
  end

  # As tool/heapsample does.
  def build_gems(dir)
    top = Dir.pwd
    {"library" => "src/lib", "command" => "heapsample"}.each do |name, from|
      FileUtils.mkdir_p("#{dir}/#{name}")
      FileUtils.cp_r("#{from}/.", name == "library" ? FileUtils.mkdir_p("#{dir}/#{name}/lib").first : "#{dir}/#{name}")
      FileUtils.cp("LICENSE", "#{dir}/#{name}")
    end
    FileUtils.mv("#{dir}/library/lib/heap_sample/heap_sample.gemspec", "#{dir}/library")
    {"library" => "heap_sample", "command" => "heapsample"}.map do |name, gem|
      Dir.chdir("#{dir}/#{name}") { script("Gem::GemRunner.new.run(%w[build #{gem}.gemspec --output #{dir}/#{gem}.gem])", "-r", "rubygems/gem_runner") }
      "#{dir}/#{gem}.gem"
    end
  ensure
    Dir.chdir(top)
  end

  test_if File.executable?(DEBIAN), "both gems make a Ruby without the sampler read profiles; the command alone is refused", "no /usr/bin/ruby" do
    library, command = build_gems(dir)
    home = {"GEM_HOME" => "#{dir}/home", "GEM_PATH" => "#{dir}/home"}
    install = ->(*gems) { Open3.capture2e({**CLEAN, **home}, DEBIAN, "-S", "gem", "install", "--local", "--no-document", *gems) }
    out, status = install.call(command)
    assert(!status.success? && out.include?("heap_sample"), out)
    out, status = install.call(library, command)
    assert(status.success?, out)
    profile = write("#{dir}/a.pb.gz", PprofWriter.gzip(sample_build.raw))
    out, status = Open3.capture2e({**CLEAN, **home}, DEBIAN, "#{dir}/home/bin/heapsample", "top", profile)
    assert(status.success? && out.include?("Foo#bar"), out)
  end
end
