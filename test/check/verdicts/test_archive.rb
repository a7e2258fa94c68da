# frozen_string_literal: true

require "stringio"
require "tmpdir"
require "zlib"
require_relative "../../testing"
require_relative "../library/build"
require_relative "../../zoo/moved_paths"

# The series in the archive have what was recorded, but for the paths of the machine that recorded them.
class ArchiveTest < Test
  def written(profile)
    out = StringIO.new("".b)
    HeapSample::PprofWriter.new(profile).write(out)
    out.string.then { |text| text.start_with?("\x1f\x8b".b) ? Zlib.gunzip(text) : text }
  end

  def read(bytes)
    Dir.mktmpdir { |folder| HeapSample::Profile.load(File.join(folder, "x.pb").tap { |path| File.binwrite(path, bytes) }) }
  end

  def profile_below(folder, gems)
    build = Build.new(directory: "#{folder}/programs")
    build.row(["shop.rb:3 Shop#cart @#{folder}/programs/shop.rb", "a.rb:1 A @#{gems}/gems/a-1.0/lib/a.rb"], "String", inuse: 20, at_gc: 3)
    build.profile
  end

  test "a profile whose paths are moved is the one that would have been recorded there" do
    long = "/home/somebody/#{"x" * 150}" # the lengths in the file need another number of bytes
    moved = MovedPaths.new("#{long}/zoo" => "/srv/zoo", "#{long}/zoo/gems" => "/usr/local/bundle").call(written(profile_below("#{long}/zoo", "#{long}/zoo/gems")))
    assert_equal written(profile_below("/srv/zoo", "/usr/local/bundle")), moved
    refute_includes moved, "somebody"
    assert_equal "/srv/zoo/programs", read(moved).info.directory
  end

  test "a profile without such paths keeps each byte" do
    bytes = written(profile_below("/srv/zoo", "/usr/local/bundle"))
    assert_equal bytes, MovedPaths.new("/home/somebody" => "/srv").call(bytes)
  end
end
