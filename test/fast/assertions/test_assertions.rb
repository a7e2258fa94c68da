# frozen_string_literal: true

# The suites in this folder, on this Ruby and on one without the sampler, as far as a test can see.

require_relative "../../testing"
require_relative "../../gems"

class AssertionsTest < Test
  OUT = output_folder(__dir__)
  LOAD = "load ARGV.shift"
  RSPEC = "require 'rspec/autorun'; #{LOAD}".freeze
  # What starts a suite, how it counts what holds and what fails, and how it counts tests that are left out.
  SUITES = {
    minitest: [LOAD, /11 runs, .*4 failures, 0 errors, 0 skips/, /11 runs, 4 assertions, 2 failures, 0 errors, 7 skips/],
    test_unit: [LOAD, /11 tests, .*4 failures, 0 errors, .* 0 omissions/, /2 failures, 0 errors, 0 pendings, 7 omissions/],
    rspec: [RSPEC, /11 examples, 4 failures$/, /11 examples, 2 failures, 7 pending/],
  }.freeze
  # minitest prints no reason of a test that it skips.
  REASON = "this Ruby has no heap sampler"
  # In the messages of both failures.
  FAILURES = [
    /The block retains 9\d{2}\.\d KiB in \d+ objects?; at most 1000 B are allowed/, /The block leaks: after 6 runs/, /with buffers +objects +class +line/,
    /HEAP_SAMPLE_REPORT=1 shows the whole report/, /: retained by `Examples::KEPT`$/
  ].freeze

  # Three lines each, and the stack.
  ALLOCATES = /The block allocates \d+ objects; at most 10 are allowed\.\n\s*Counted for the thread that runs the block\.\n\s*Most objects are from .*examples\.rb:\d+ .*: \d+\.\n\s+.*\.rb:\d+ /
  PEAK = /The block needs (?:39|4\d)\.\d MiB more resident memory at its peak; at most 1\.0 MiB are allowed\.\n\s*Counted for the whole process, all threads\.\n\s*Most objects are from .*: \d+\.$/
  NO_LINE = /The block allocates \d+ objects; at most 10 are allowed\.\n\s*Counted for the whole process, all threads\.\n\s*A Ruby with the heap sampler shows the line\./

  # What a suite prints; that tests fail is no failure here.
  def suite(name, before = nil)
    env = name == :rspec ? {"GEM_PATH" => gem_path} : {}
    said, status = Open3.capture2e(env, RbConfig.ruby, "-I#{TOP}/src/lib", "-e", "#{before}; #{SUITES[name].first}", "--", "#{__dir__}/suite_#{name}.rb")
    assert_includes 0..1, status.exitstatus, said
    said
  end

  # RSpec is no part of Ruby.
  def gem_path
    path = "#{OUT}/gems:#{Gem.default_dir}"
    return path if Dir.exist?("#{OUT}/gems/gems")

    said, status = Open3.capture2e(RbConfig.ruby, "-S", File.join(File.dirname(RbConfig.ruby), "gem"), "install", "--no-document", "-i", "#{OUT}/gems", "rspec", "-v", "~> 3.13")
    assert(status.success?, said)
    path
  end

  # The messages of both failures, each from its first sentence to its last line.
  def messages(said)
    said.lines.slice_before(/The block (?:retains|leaks)/).drop(1).map { |lines| lines.take(1 + lines.index { |line| line.include?("HEAP_SAMPLE_REPORT") }.to_i) }
  end

  SUITES.each do |name, (_, counts, omitted)|
    test "#{name}: what holds passes, what does not fails, with the lines behind it" do
      said = suite(name)
      [counts, *FAILURES, ALLOCATES, PEAK].each { |text| assert_match text, said }
      assert_equal [true, true], messages(said).map { |lines| lines.size.between?(2, 10) }
      refute_match(/Heap sample of process|Memory of the process/, said)
    end

    test "#{name}: without the sampler tests are left out#{", with the reason" unless name == :minitest}, but those that count allocations of the process" do
      said = suite(name, "GC.singleton_class.undef_method(:sample_profile)")
      [omitted, NO_LINE].each { |text| assert_match text, said }
      assert_includes said, REASON unless name == :minitest
    end
  end

  test "HEAP_SAMPLE_REPORT=1 shows the report below the lines" do
    script = 'kept = []; puts HeapSample::Retention.new { kept << "x" * 10_000 }.message(100)'
    text, status = Open3.capture2e({"HEAP_SAMPLE_REPORT" => "1"}, RbConfig.ruby, "-I#{TOP}/src/lib", "-rheapsample/assertions", "-e", script)
    assert(status.success?, text)
    assert_includes text.lines[2], "with buffers"
    assert_includes text, "Heap sample of process"
    refute_includes text, "HEAP_SAMPLE_REPORT"
  end
end
