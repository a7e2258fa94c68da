# frozen_string_literal: true

require_relative "../../testing"
require_relative "../../gems"

class BesideTest < Test
  OUT = install_gems(__dir__)
  # Those that can be in one process: stackprof has one mode at a time; memory_profiler stops trace_object_allocations,
  # and wants no GC but its own, as vernier's of what is retained starts one; vernier's of threads, stackprof's of CPU time
  # and Datadog's each want SIGPROF for themselves (vernier says so by abort(3)).
  SETS = {"none" => [], "allocations" => %w[coverage tracepoint trace_object_allocations stackprof vernier-retained datadog],
          "retained" => %w[oneshot-coverage memory_profiler stackprof datadog],
          "threads" => %w[coverage trace_object_allocations stackprof vernier vernier-retained],
          "cpu" => %w[oneshot-coverage tracepoint trace_object_allocations stackprof vernier-retained]}.freeze
  MODES = {"retained" => "wall", "threads" => "wall", "cpu" => "cpu"}.tap { |modes| modes.default = "object" }
  FORKS = {"threads" => "no"}.tap { |forks| forks.default = "yes" }
  EXACT = "interval=1,max-samples=none"
  ALONE = {}
  missing = ->(option, check) { "this Ruby has no #{option}" unless system(RbConfig.ruby, option, "-e", check, err: File::NULL) }
  NO_YJIT = missing["--yjit", "exit RubyVM::YJIT.enabled?"]
  NO_RJIT = missing["--rjit", "exit RubyVM::RJIT.enabled?"]

  %w[allocations retained threads cpu].each do |set|
    test("without ours, profilers of #{set} find what they should") { assert_beside(set) }
  end

  {"ours alone, every object sampled" => ["none", EXACT],
   "allocation profilers beside ours, every object sampled" => ["allocations", EXACT],
   "profilers of what is retained beside ours" => ["retained", EXACT],
   "profilers of threads beside ours" => ["threads", EXACT],
   "profilers of CPU time beside ours" => ["cpu", EXACT],
   "allocation profilers beside ours, at 4 KiB" => ["allocations", "interval=4k"]}.each do |name, (set, settings)|
    test("#{name}: the program prints the same, and all find what they should") { assert_beside(set, settings) }
  end

  {"allocation profilers" => ["allocations", EXACT, "--yjit", "--yjit-call-threshold=2"],
   "profilers of what is retained, at 4 KiB" => ["retained", "interval=4k", "--yjit"],
   "profilers of threads" => ["threads", EXACT, "--yjit"]}.each do |name, (set, settings, *options)|
    test("with YJIT, #{name} beside ours find what they should", missing: NO_YJIT) { assert_beside(set, settings, *options) }
  end

  # RJIT reads ISEQs that are gone, in the unpatched Ruby too (doc/reliability.md): the profile's reader loads json, which
  # defines constants.
  test "ours with RJIT, but for RJIT's own fault", missing: NO_RJIT do
    assert_beside("none", EXACT, "--rjit", "--rjit-call-threshold=2")
  rescue Minitest::Assertion
    raise unless File.read("#{OUT}/none.err", encoding: "BINARY").match?(/^<internal:rjit_c>:.*\[BUG\] Segmentation fault/n)
  end

  private

  # What the program prints in a set of profilers, and under ours where there are settings. What they found is in OUT/SET.tap.
  def output(set, settings, *options, forks: FORKS[set])
    FileUtils.rm_f("#{OUT}/#{set}.tap")
    # The signal handler of stackprof reads frames that are being moved while YJIT works: SIGSEGV, on the unpatched Ruby too
    # (doc/reliability.md). Samples of objects are not taken in a signal handler.
    unsafe = options.include?("--yjit") && MODES.key?(set) ? %w[stackprof] : []
    env = {"STACKPROF" => MODES[set], "FORK" => forks, "RUBY_HEAP_SAMPLE" => settings && "#{settings},malloc=4k,output=none"}
    system(env, "timeout", "-s", "KILL", "300", RbConfig.ruby, *options, "-rbundler/setup", "#{__dir__}/program.rb", "#{OUT}/#{set}.tap", *(SETS.fetch(set) - unsafe),
           in: File::NULL, out: "#{OUT}/#{set}.out", err: "#{OUT}/#{set}.err")
    assert_predicate $?, :success?, File.read("#{OUT}/#{set}.err").lines.first(20).join
    File.read("#{OUT}/#{set}.out")
  end

  # Without any profiler, with the forked child and without.
  def output_alone(forks) = ALONE[forks] ||= output("none", nil, forks: forks).tap { |text| refute_empty text }

  def assert_beside(set, settings = nil, *options)
    expected = output_alone(FORKS[set])
    assert_equal expected, output(set, settings, *options)
    errors = File.read("#{OUT}/#{set}.err", encoding: "BINARY")
    refute_match(/\[BUG\]|^heap-sample:/n, errors)
    found = File.read("#{OUT}/#{set}.tap")
    note found
    refute_empty found
    refute_match(/^not ok/, found)
  end
end
