# frozen_string_literal: true

require "heapsample"
require "rbconfig"
require "tmpdir"
require_relative "../../testing"

class PullRequestTest < Test
  TOP = File.expand_path("../../..", __dir__)
  OUT = File.join(TOP, "build/pull_request")
  HEAPSAMPLE = [RbConfig.ruby, "-I", "#{TOP}/src/lib", "#{TOP}/src/libexec/heapsample"].freeze

  def heapsample(*arguments, **options) = Open3.capture3({"RUBYOPT" => nil}, *HEAPSAMPLE, *arguments, **options).then { |out, error, status| [out, error, status.exitstatus] }

  test "the example names the line that allocates more, for a person, a pull request and CI" do
    out, error, status = Open3.capture3("#{TOP}/examples/pull_request/run", RbConfig.ruby)
    assert_equal(3, status.exitstatus, out + error)
    assert_match(/^Higher: objects allocated \+\d/, out)
    assert_match(%r{^higher .*lib/kramdown/document\.rb:\d+ .*initialize}, out)
    assert_includes(out, "Ruby, gems, YJIT and allocator are the same.")
    assert_match(%r{^\| higher \|.*`lib/kramdown/document\.rb}, File.read("#{OUT}/memory.md"))
    assert_match(/<testcase [^>]*name="objects allocated"><failure/, File.read("#{OUT}/memory.xml"))
  end

  # It has run above, or runs here.
  def runs
    Open3.capture3("#{TOP}/examples/pull_request/run", RbConfig.ruby) unless File.directory?("#{OUT}/head-runs")
    %w[base-runs head-runs].map { |name| File.join(OUT, name) }
  end

  test "budgets are written with --accept, and what is above them is named" do
    base, head = runs
    Dir.mktmpdir do |folder|
      file = File.join(folder, "memory.json")
      assert_equal(0, heapsample("compare", base, "--budget", file, "--accept").last)
      assert_equal(["Within the budgets.\n", "", 0], heapsample("compare", base, "--budget", file))
      out, _, status = heapsample("compare", head, "--budget", file)
      assert_equal(3, status)
      assert_includes(out, "Over budget: objects allocated")
      assert_match(/"over": \[\n.*"figure": "allocated"/m, heapsample("compare", head, "--budget", file, "--json").first)
    end
  end

  # The child ends within the test: of what is run at its end, only the record is left.
  TEST = 'def test_a = 5000.times { "x" * 9 }.then { Process.wait(fork { exit }) }; def test_b = assert(true); end'
  SUITES = {
    "minitest" => "require 'minitest/autorun'; class ATest < Minitest::Test; #{TEST}",
    "test-unit" => "require 'test/unit'; class ATest < Test::Unit::TestCase; #{TEST}"
  }.freeze

  SUITES.each do |name, text|
    test "tests of #{name} are counted one by one, and a forked child counts once" do
      Dir.mktmpdir do |folder|
        suite = File.join(folder, "suite.rb")
        File.write(suite, text)
        _, error, status = heapsample("compare", "#{folder}/runs", "--runs", "3", "--", RbConfig.ruby, suite)
        assert_equal(0, status, error)
        found = HeapSample::RunFolder.new("#{folder}/runs")
        assert_equal([2, 2], [found.size, found.runs.first.processes])
        bytes = found.row(:allocated_bytes, :test, "ATest#test_a").first
        assert(bytes.all? { |value| value.between?(150_000, 700_000) }, bytes.inspect)
      end
    end
  end

  test "a command that fails ends the recording, and names its output" do
    Dir.mktmpdir do |folder|
      _, error, status = heapsample("compare", "#{folder}/runs", "--", RbConfig.ruby, "-e", "warn 'broken'; exit 4")
      assert_equal(1, status)
      assert_match(/failed \(.*exit 4\); its output is in .*run-001\.out/, error)
      assert_includes(File.read("#{folder}/runs/run-001.out"), "broken")
      assert_equal(2, heapsample("compare", "#{folder}/runs", "--").last)
      assert_match(/no runs but the first/, heapsample("compare", "#{folder}/runs", "#{folder}/runs")[1])
    end
  end
end
