# frozen_string_literal: true

# The gem: by default in the Ruby with the sampler, installed in another Ruby.

require "heapsample/version"
require_relative "../../testing"
require_relative "../../check/command/command_helper"

class GemsTest < Test
  include CommandHelper

  # What a script prints; it has to end well.
  def script(text, *arguments, ruby: OURS)
    out, status = Open3.capture2e(CLEAN, ruby, *arguments, "-e", text)
    flunk(out) unless status.success?
    out
  end

  test "the Ruby with the sampler has the library as a default gem, and the command" do
    out = script("spec = Gem::Specification.find_by_name('heapsample')\np spec.default_gem?, spec.version.to_s == HeapSample::VERSION, " \
                 "spec.files.include?('lib/heapsample/profile/columns.rb') || spec.files.include?('heapsample/profile/columns.rb')", "-r", "heapsample")
    assert_equal("true\ntrue\ntrue\n", out)
    out, status = Open3.capture2e(CLEAN, File.join(File.dirname(OURS), "heapsample"), "--version")
    assert_equal([true, "heapsample #{HeapSample::VERSION}\n"], [status.success?, out])
  end

  test "the command and the library come from one place, whatever was loaded before" do
    out = script(<<~'RUBY', "-w", "--disable=gems", "-I", "src/lib")
      GC::SampleProfile.load("/") rescue 0
      top = HeapSample::Top
      require "heapsample/tool"
      p HeapSample::Top.equal?(top), HeapSample::Tool::CLI
      p $LOADED_FEATURES.grep(%r{/heapsample(?:/|\.rb)}).map { |path| path[%r{.*?(?=/heapsample)}] }.uniq == [File.expand_path("src/lib")]
    RUBY
    assert_equal("true\nHeapSample::Tool::CLI\ntrue\n", out)
  end

  test "the gem makes a Ruby without the sampler read profiles", missing: NO_DEBIAN do
    folder do |dir|
      out, status = Open3.capture2e(CLEAN, "tool/gem", OURS)
      assert(status.success?, out)
      home = {"GEM_HOME" => "#{dir}/home", "GEM_PATH" => "#{dir}/home"}
      out, status = Open3.capture2e({**CLEAN, **home}, DEBIAN, "-S", "gem", "install", "--local", "--no-document", *Dir["build/heapsample/heapsample-*.gem"])
      assert(status.success?, out)
      profile = write("#{dir}/a.pb.gz", PprofEncoder.gzip(sample_build.raw))
      out, status = Open3.capture2e({**CLEAN, **home}, DEBIAN, "#{dir}/home/bin/heapsample", "top", profile)
      assert(status.success? && out.include?("Foo#bar"), out)
    end
  end
end
