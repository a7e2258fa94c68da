# frozen_string_literal: true

# Files that another user may have put into a folder.

require "socket"
require "tmpdir"
require_relative "../../testing"
require_relative "builds"
require_relative "pprof_encoder"

class ForeignFileTest < Test
  include Builds
  include HeapSample

  def profile_at(minute)
    raw = sample_build.raw
    PprofEncoder.gzip(raw.merge(meta: raw[:meta].merge("taken_ns" => raw[:meta]["taken_ns"] + minute * Build::MINUTE)))
  end

  # With a good file, so that what is left out shows.
  def with_folder
    Dir.mktmpdir do |folder|
      File.binwrite("#{folder}/good.pb.gz", profile_at(1))
      yield folder, ->(name) { File.join(folder, name) }
    end
  end

  def soon(seconds = 20)
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield.tap { assert(Process.clock_gettime(Process::CLOCK_MONOTONIC) - started < seconds, "it took too long") }
  end

  def refusal
    yield
    flunk("it was read")
  rescue FormatError => e
    e.message
  end

  # What Series says of one more file, which the block makes.
  def left_out(name = "x.pb.gz")
    with_folder do |folder, path|
      yield path[name]
      series = soon { Series.load(folder) }
      assert_equal(1, series.size)
      series.warnings.join("; ").delete_prefix("#{folder}/")
    end
  end

  test "no plain file is opened, in a folder or alone, and the others are read" do
    kinds = {"a FIFO" => ->(path) { File.mkfifo(path) }, "a folder" => ->(path) { Dir.mkdir(path) }, "a socket" => ->(path) { UNIXServer.new(path).close },
             "a device" => ->(path) { File.symlink("/dev/zero", path) }}
    kinds.each do |kind, make|
      assert_equal("x.pb.gz: it is #{kind}, not a file", left_out(&make))
      with_folder do |_, path|
        make[path["y.pb"]]
        [-> { Profile.load(path["y.pb"]) }, -> { PprofReader.read_meta(path["y.pb"]) }, *(-> { Series.load(path["y.pb"]) } unless kind == "a folder")].each do |read|
          soon { assert_equal("#{path["y.pb"]}: it is #{kind}, not a file", refusal(&read)) }
        end
      end
    end
  end

  test "a file without end is read up to its size, and one that is too large not at all" do
    assert(left_out { |path| File.open(path, "w") { |file| file.truncate(1 << 42) } }.include?("not a readable heap profile"))
    assert(left_out("x.pb") { |path| File.open(path, "w") { |file| file.truncate(1 << 42) } }.end_with?("it decompresses to more than #{PprofReader::DECODED_MAX} bytes"))
    assert(left_out { |path| File.symlink("/proc/self/environ", path) }.include?("not a readable heap profile"))
  end

  test "a link is followed in one's own folder, and not where another user could have made it" do
    with_folder do |folder, path|
      File.symlink(path["good.pb.gz"], path["link.pb.gz"])
      assert(Profile.load(path["link.pb.gz"]).table.any?)
      [0o1777, 0o777].each do |mode|
        File.chmod(mode, folder)
        assert(refusal { Profile.load(path["link.pb.gz"]) }.end_with?("link.pb.gz: it is a link in a folder that other users may write to, not a file"))
        assert(Profile.load(path["good.pb.gz"]).table.any?)
        assert_equal(1, Series.load(folder).warnings.size)
      end
      next unless Process.euid.zero?

      File.chmod(0o755, folder)
      File.chown(65_534, 65_534, folder)
      refusal { Profile.load(path["link.pb.gz"]) }
    end
  end

  test "names of any bytes are shown escaped" do
    assert_equal("x\\xFF\\e[31m\\n\\u202E.pb.gz: not a readable heap profile: the gzip data ends too early (cut off?)",
                 left_out("x\xff\e[31m\n\u202e.pb.gz") { |path| File.binwrite(path, profile_at(2)[0, 99]) })
    assert_equal(0, left_out("\xff.pb.gz") { |path| File.binwrite(path, profile_at(1)) }.count("\xff".b))
    refusal { Profile.load("a\0b") }
  end

  test "of many bad files the first five are named, and the others are counted" do
    with_folder do |folder, path|
      30.times { |index| File.write(path["bad#{index}.pb.gz"], "x") }
      warnings = Series.load(folder).warnings
      assert_equal([6, "25 more files are left out"], [warnings.size, warnings.last])
      assert(warnings.first.start_with?("#{folder}/bad0.pb.gz: "), warnings.first)
    end
  end

  test "a file of another user is read whole before it counts" do
    skip "not root" unless Process.euid.zero?

    with_folder do |folder, path|
      # Whole, but for its last row: a sample of too few values.
      File.binwrite(path["bad.pb"], Zlib.gunzip(profile_at(2)) + "\x12\x06\x0a\x01\x01\x12\x01\x01".b)
      File.chown(65_534, 65_534, path["bad.pb"])
      series = Series.load(folder)
      assert_equal([1, 1], [series.size, series.warnings.size])
      assert(series.warnings.first.include?("a sample has 1 values"), series.warnings.first)
    end
  end
end
