# frozen_string_literal: true

# Programs of examples/memory: their profiles, compared with the truth that they print.
# Usage: ruby test_examples.rb [-n /C leak/]     also with Rubies of other builds; SLOW=1 repeats what varies by chance
require "tmpdir"
require_relative "../../testing"

class MallocExamplesTest < Test
  TOP = File.expand_path("../../..", __dir__)
  RUNS = SLOW ? 5 : 1
  # Beyond 6 deviations: once in 500 million runs. (The 95% interval would miss one run in twenty.)
  DEVIATIONS = 6
  # HeapSample::Statistics has it, not for others.
  EXACT_ERROR = 1e-4

  # What a program printed, and its profile.
  Run = Struct.new(:printed, :profile) do
    # The numbers of the line in which the program says what it retains.
    def retained = printed[/^retained: (.*)/, 1].scan(/\d+/).map(&:to_i)
    def first(by, kind) = profile.groups(by, kind: kind).largest(:inuse, 1).first
  end

  test "big strings: their line is first, and the truth is in its interval" do
    run = examples("big_strings", "malloc under Ruby").first
    bytes, count = run.retained
    %i[both malloc].each { |kind| assert_place "big_strings.rb:12 Archive#store", run.first(:line, kind) }
    truth = bytes + count # a NUL ends each
    low, high = run.first(:line, :both).malloc.space_interval
    # Below this relative error a figure is called exact: a small block of the line's may be a sample, too.
    slack = [2 * count, DEVIATIONS * EXACT_ERROR * truth].max
    assert_includes low - slack..high + slack, truth
    assert_operator high - low, :<=, truth / 100
  end

  test "a C leak: function, library and line are first, and the bytes are right" do
    run = examples("leaks_in_c", 'the C library thumbnail\.so').first
    %i[both malloc].each { |kind| assert_place "leaks_in_c/leak.rb:18 Gallery#add", run.first(:line, kind) }
    function = run.first(:function, :malloc)
    assert_equal ["thumbnail_decode (thumbnail.so)", "thumbnail.so"], [function.key, run.first(:library, :malloc).key]
    assert_in_delta run.retained[0], function.inuse.space, DEVIATIONS * Math.sqrt(function.inuse.variance)
  end

  test "leaked objects: their line is first, and their number is right" do
    run = examples("leaks_objects", "Ruby objects").first
    %i[both slots].each { |kind| assert_place "leaks_objects.rb:14 Bus#subscribe", run.first(:line, kind) }
    line = run.first(:line, :slots)
    assert_in_delta 3 * run.retained[0], line.inuse.objects, DEVIATIONS * Math.sqrt(line.inuse.objects_variance)
  end

  test "a program that fragments reads as fragmentation" do
    examples("fragments", "fragmentation and caches of malloc")
  end

  private

  # Each of some runs; in each, the report names +what+ first as what grows.
  def examples(name, what)
    Array.new(RUNS) do
      Dir.mktmpdir do |dir|
        printed = assert_success({"PROFILES" => dir}, "#{TOP}/examples/memory/run", RbConfig.ruby, name)
        assert_match(/^Growing in #{what}/, printed)
        Run.new(printed, GC::SampleProfile.load("#{dir}/#{name}.pb.gz"))
      end
    end
  end

  def assert_place(expected, group)
    place = group.key
    assert_equal expected, "#{place.path[/(leaks_in_c\/)?[^\/]+\z/]}:#{place.line} #{place.label}"
  end
end
