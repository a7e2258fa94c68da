# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require "zlib"
require_relative "exhibit"
require_relative "moved_paths"

# The recorded series that test/fast/zoo judges, at least one of each kind of program. Each is a compressed archive, with
# the truth about it when it was recorded. xz finds what the profiles of a series have in common, gzip does not: the
# archives have a fifth of the size.
class Archive
  FOLDER = File.expand_path("../fast/zoo", __dir__)
  SERIES = File.join(FOLDER, "series")
  TRUTHS = File.join(FOLDER, "truths.json")

  # Exhibit#truth of each.
  def self.truths = JSON.parse(File.read(TRUTHS))

  # Yields a folder with a folder for each series that is named.
  def self.open(names)
    Dir.mktmpdir("zoo") do |folder|
      names.each do |name|
        system("tar", "-xJf", File.join(SERIES, "#{name}.tar.xz"), "-C", folder) || raise("#{name}.tar.xz cannot be unpacked: are tar and xz here?")
      end
      yield folder
    end
  end

  # `series`: exhibit => its folder. `paths`: paths of this machine => what stands for them.
  def self.pack(series, paths)
    moved = MovedPaths.new(paths)
    FileUtils.rm_rf(SERIES)
    FileUtils.mkdir_p(SERIES)
    Dir.mktmpdir("zoo") do |folder|
      series.each do |exhibit, from|
        copy(from, File.join(folder, exhibit.name), moved)
        compress(folder, exhibit.name)
      end
    end
    write_truths(series.keys.map(&:truth))
  end

  def self.write_truths(truths) = File.write(TRUTHS, "[\n#{truths.map { |truth| JSON.generate(truth) }.join(",\n")}\n]\n")

  # Without the times and the owner of the files, which are this machine's.
  def self.compress(folder, name)
    system("tar", "-C", folder, "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw",
           "-I", "xz -9e", "-cf", File.join(SERIES, "#{name}.tar.xz"), name) || raise("#{name}.tar.xz could not be written")
  end

  def self.copy(from, to, moved)
    FileUtils.mkdir_p(to)
    Dir[File.join(from, "*.pb.gz")].each { |path| File.binwrite(File.join(to, File.basename(path, ".gz")), moved.call(Zlib.gunzip(File.binread(path)))) }
  end
  private_class_method :compress, :copy, :write_truths
end
