# frozen_string_literal: true

require "tmpdir"
require_relative "../../testing"
require_relative "build"

class GCRecordTest < Test
  include HeapSample

  # Eight GCs from the beginning on, two of them major, the slowest by oldgen; and 81 s later one by malloc.
  LOG = [8, 1_699_999_999_000, 8, 2, 6, 9000, 1000, 2500, 70_000, 900, 40, 1000, 8000, 1, 81_000, 1, 0, 1, 1, 0, 7, 800, 20, 1, 400, 40].freeze
  CAUSES = [{"reason" => "malloc", "gcs" => 3, "ns" => 1_500_000, "longest_stop_ns" => 7000}, {"reason" => "oldgen", "gcs" => 6, "ns" => 10_000_000, "longest_stop_ns" => 2_500_000}].freeze
  GC_OF = {"log" => LOG, "causes" => CAUSES, "cpu_ns" => 400_000_000}.freeze

  def of(gc) = GCRecord.of(Meta.new("gc" => gc, "process_id" => 7))

  test "each GC has what it took and left" do
    record = of(GC_OF)
    first, last = record.entries
    assert_equal([8, Time.at(1_699_999_999), 8, 2, "oldgen", 0.009, 0.001, 0.0025, 70_000, 900, 20, 500, 4000], first.to_a)
    assert_equal([9, Time.at(1_700_000_080), 1, 0, "malloc", 1e-6, 0.0, 7e-6, 800, 20, 19, 700, 4020], last.to_a)
    assert_equal([9, 2, 81.0, %w[oldgen malloc]], [record.gcs, record.majors, record.span, record.causes.map(&:reason)])
    assert_in_delta(0.0115 / 0.4, record.share)
    assert_equal(0.0025, record.longest_pause)
  end

  test "an older file and nonsense have none" do
    [nil, "x", [], [1], [nil] * 13, [-1] * 13, [1 << 70] * 13].each { |log| assert_nil(of({"log" => log})) }
    assert_nil(of(nil))
    assert_equal([nil, []], of({"log" => LOG, "causes" => [{"reason" => "x"}], "cpu_ns" => 0}).then { |record| [record.share, record.causes] })
  end

  test "a profile written and read again has it, and a merged one does not" do
    build = Build.new("gc" => GC_OF)
    file = StringIO.new("".b)
    PprofWriter.new(build.profile).write(file)
    assert_equal(LOG, Profile.load(StringIO.new(file.string), name: "again").meta.dig("gc", "log"))
    require "heapsample/tool"
    assert_nil(GCRecord.of(HeapSample::Tool::Merge.new.add(build.profile).profile(files: 1).info))
  end

  test "the report has the cost, the reason and the setting, a plot, and a row for each entry" do
    text = GCReport.new(of(GC_OF)).to_s
    assert_includes(text, "GC used 2.9% of the CPU time (12 ms of 0.4 s): 9 GCs; the longest pause was 3 ms.")
    assert_includes(text, "87.0% of it was for 6 GCs by oldgen (old objects above the limit; RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR makes them rarer).")
    assert_match(/^22:13:19\.000 +8 +2 +9\.0 ms +1\.0 ms +2\.5 ms +70,000 +900 +4,000 +500 +20 +oldgen$/, text)
    csv = GCReport.new(of(GC_OF)).text.to_csv.lines
    assert_equal([3, "9,1700000080.000,1,0,malloc,1.0e-06,0.0,7.0e-06,800,20,19,700,4020\n"], [csv.size, csv.last])
    assert_equal(["oldgen", "RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR"], GCReport.new(of(GC_OF)).to_h[:cost].values_at(:cause, :setting))
  end

  test "a cost names the line that allocates most of what makes the GCs necessary" do
    build = Build.new("gc" => GC_OF)
    build.row(["app/order.rb:12 Order#total"], "String", alloc: 900)
    build.row(["app/item.rb:7 Item#name"], "String", alloc: 100)
    cost = GCCost.new(GCRecord.of(build.profile.info), build.profile)
    assert_match(%r{Most objects that led to them: app/order\.rb:12 .*, 90\.0%}, cost.sentences(Layout.new(root: "/")).last)
  end

  PROGRAM = <<~RUBY
    keep = []
    200.times { |i| 1000.times { "x" * 100 + i.to_s }; keep << ("y" * 5000) << Array.new(50) { {a: 1} } }
    GC.start
    pid = fork { 100_000.times { Object.new }; GC.start }
    Process.wait(pid)
  RUBY

  test "heapsample/gc_log records the GCs of any Ruby, and of a forked child apart" do
    Dir.mktmpdir do |folder|
      _, error, status = Open3.capture3({"RUBYOPT" => nil, "HEAPSAMPLE_GC_LOG" => folder}, RbConfig.ruby, "-I", "src/lib", "-r", "heapsample/gc_log", "-e", "#{PROGRAM}; puts GC.count")
      assert(status.success? && error.empty?, error)
      files = Dir.glob("#{folder}/*.gc.json").sort_by { |file| File.mtime(file) }
      assert_equal(2, files.size)
      child, parent = files.map { |file| GCRecord.load(file) }
      assert_operator(parent.causes.sum(&:gcs), :>=, 3)
      assert_equal(parent.gcs, parent.causes.sum(&:gcs))
      assert_operator(parent.majors, :>=, 1)
      assert_operator(child.gcs, :<, parent.gcs)
      assert(parent.share.between?(0.001, 0.99), parent.share.to_s)
      assert_includes(parent.missing, :pause)
      assert_match(/This Ruby does not have: .*longest pause, promoted/, GCReport.new(parent).text(width: 500).to_s)
    end
  end

  test "a damaged file of heapsample/gc_log is an error that names it" do
    Dir.mktmpdir do |folder|
      ["", "[]", "{}", '{"format": 2}', '{"format": 1, "entries": [[1]], "causes": [], "missing": []}', "\xff"].each do |text|
        File.binwrite("#{folder}/x.gc.json", text)
        assert_match(/x\.gc\.json/, assert_raises(FormatError) { GCRecord.load("#{folder}/x.gc.json") }.message)
      end
    end
  end
end
