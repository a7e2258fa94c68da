# frozen_string_literal: true

require "tmpdir"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class SeriesTest < Test
  include Builds
  include HeapSample

  def at_minute(minute, **meta)
    sample_build("taken_ns" => Build::STARTED + minute * Build::MINUTE, **meta)
  end

  def in_folder_of(files)
    Dir.mktmpdir do |folder|
      files.each { |name, content| File.binwrite(File.join(folder, name), content.is_a?(String) ? content : PprofEncoder.gzip(content.raw)) }
      yield folder
    end
  end

  test "a folder is read in the order of time, whatever the names" do
    in_folder_of("c.pb.gz" => at_minute(1), "a.pb.gz" => at_minute(3), "b.pb.gz" => at_minute(2), "notes.txt" => "x", ".d.pb.gz" => "x") do |folder|
      series = Series.load(folder)
      assert_equal(%w[c b a], series.paths.map { |path| File.basename(path, ".pb.gz") })
      assert_equal([], series.warnings)
      assert_equal(120.0, series.seconds)
      assert_equal(3, series.map { |profile| profile.table.size }.count(sample_build.raw[:rows].size))
      assert_equal("#<HeapSample::Series process 4711, 3 profiles, 2026-01-01 00:01:00 – 00:03:00 UTC>", series.inspect)
    end
  end

  test "processes and sessions are kept apart; the longest is loaded and the others are named" do
    files = {"a1.pb.gz" => at_minute(1), "a2.pb.gz" => at_minute(2), "b1.pb.gz" => at_minute(1, "process_start" => "other", "process_id" => 5),
             "c1.pb.gz" => at_minute(9, "session" => 2, "started_ns" => Build::STARTED + Build::MINUTE)}
    in_folder_of(files) do |folder|
      assert_equal([2, 1, 1], Series.all(folder).map(&:size))
      series = Series.load(folder)
      assert_equal(2, series.size)
      assert_equal(["left out: process 5, 1 profile, 2026-01-01 00:01:00 UTC",
                    "left out: process 4711, session 2, 1 profile, 2026-01-01 00:09:00 UTC"], series.warnings)
    end
  end

  test "what keep= deletes while a series is read is read all the same" do
    in_folder_of("a.pb.gz" => at_minute(1), "b.pb.gz" => at_minute(2)) do |folder|
      series = Series.load(folder)
      File.delete(File.join(folder, "a.pb.gz"))
      rows = sample_build.raw[:rows].size
      assert_equal([rows] * 2, series.map { |profile| profile.table.size })
      assert_equal([rows] * 2, series.filter(kind: :both).map { |profile| profile.table.size })
      assert_equal([rows] * 2, series.upto(2).map { |profile| profile.table.size })
    end
  end

  test "what was deleted before it could be read is no news, what cannot be read is" do
    in_folder_of("a.pb.gz" => at_minute(1)) do |folder|
      File.symlink("nowhere.pb.gz", File.join(folder, "b.pb.gz"))
      Dir.mkdir(File.join(folder, "c.pb.gz"))
      assert_equal(["#{folder}/c.pb.gz: it is a folder, not a file"], Series.load(folder).warnings)
    end
  end

  test "damaged files are named and left out" do
    whole = PprofEncoder.gzip(at_minute(1).raw)
    in_folder_of("a.pb.gz" => whole, "b.pb.gz" => whole[0, whole.size / 2], "c.pb.gz" => "", "d.pb.gz" => "no gzip", "e.pb.gz" => at_minute(2)) do |folder|
      series = Series.load(folder)
      assert_equal(2, series.size)
      assert_equal(%w[b c d], series.warnings.map { |warning| warning[%r{([^/]*)\.pb\.gz: not a readable heap profile}, 1] })
    end
  end

  test "one moment counts once" do
    in_folder_of("a.pb.gz" => at_minute(1), "copy.pb.gz" => at_minute(1), "b.pb.gz" => at_minute(2)) do |folder|
      series = Series.load(folder)
      assert_equal(2, series.size)
      assert(series.warnings.first.include?("copy.pb.gz: left out: the same moment as"), series.warnings.inspect)
    end
  end

  test "nothing to read is an error that says so" do
    in_folder_of({}) { |folder| assert_error(FormatError, /: no profile \(\.pb\.gz, \.pb\) found/) { Series.load(folder) } }
    in_folder_of("a.pb.gz" => "") { |folder| assert_error(FormatError, /a\.pb\.gz: not a readable heap profile: it is an empty file/) { Series.load(folder) } }
    assert_error(Errno::ENOENT, /nowhere/) { Series.load("/nowhere.pb.gz") }
  end

  test "a list of files, and profiles as objects" do
    in_folder_of("a.pb.gz" => at_minute(1), "b.pb.gz" => at_minute(2)) do |folder|
      assert_equal(2, Series.load(Dir[File.join(folder, "*")]).size)
    end
    series = Series.new([at_minute(2).profile, at_minute(1).profile])
    assert_equal([60, 120], series.times.map { |time| time.to_i - Build::STARTED / 1_000_000_000 })
    assert_error(ArgumentError, /must be from one session of one process/) { Series.new([at_minute(1).profile, at_minute(2, "session" => 2).profile]) }
    assert_error(ArgumentError, /Integer is not a profile/) { Series.new([3]) }
    assert_error(ArgumentError, /at least one profile/) { Series.new([]) }
  end

  test "what a file says of itself is read without its rows" do
    in_folder_of("a.pb.gz" => at_minute(1)) do |folder|
      path = File.join(folder, "a.pb.gz")
      assert_equal(Profile.load(path).meta, PprofReader.read_meta(path))
    end
  end

  test "a profile that was read last is not read again" do
    in_folder_of("a.pb.gz" => at_minute(1), "b.pb.gz" => at_minute(2), "c.pb.gz" => at_minute(3)) do |folder|
      series = Series.load(folder)
      assert(series.last.equal?(series[2]) && series.upto(3).last.equal?(series.last), "read again")
      first = series.first
      series.each_with_index { |_, index| series[index] }
      refute(first.equal?(series.first), "more are held than the last two")
    end
  end

  test "a series is made of what there is" do
    profiles = [at_minute(1).profile, at_minute(2).profile]
    series, = Series.all(profiles)
    assert_equal([2, [series]], [series.size, Series.all(series)])
    in_folder_of("a.pb.gz" => at_minute(1)) { |folder| assert_equal([1, 1], [folder, Dir[File.join(folder, "*")]].map { |what| Series.all(what).sum(&:size) }) }
    assert_error(FormatError, /no profile/) { Series.all([]) }
  end
end
