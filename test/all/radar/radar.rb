# frozen_string_literal: true

require "etc"
require "fileutils"
require "open3"

# The headers of the built 3.4, the headers of another release laid over them, and our files compiled against both. What
# is compiled is the overlay of this checkout; nothing is linked, and nothing runs.
#
# The gem has no public headers, none of some internal headers, and no .c file. So errors in MRI's own headers are not
# counted, and hooks, structs that are private to a .c file, and changed behaviour are not seen.
class Radar
  BUILD = "#{TOP}/build/3.4"
  FLAGS = %w[-std=gnu99 -O1 -fsyntax-only -ftrack-macro-expansion=0 -fmax-errors=0 -DRUBY_EXPORT -Werror=undef
             -Werror=implicit-function-declaration -Werror=incompatible-pointer-types -Werror=int-conversion].freeze
  OURS = %r{\A(heap_sampler/|internal/heap_sampler|include/ruby/heap_sampler)}
  ERROR = /\A(?<file>[^:]+):\d+:\d+: (?<fatal>fatal )?error: (?<message>.*)/

  # +headers+: a folder with headers of +release+, such as "4.0.6"; nil: the headers of the build alone.
  def initialize(tree, headers = nil, release = nil)
    @tree = tree
    FileUtils.rm_rf(tree)
    copy(Dir.glob("**/*.h", base: "#{BUILD}/src").grep_v(%r{\A(ext|spec|test)/}), "#{BUILD}/src")
    copy(Dir.glob("{heap_sampler,gc,include,internal}/**/*.{c,h,inc}", base: "#{TOP}/src"), "#{TOP}/src")
    lay(headers, release) if headers
  end

  attr_reader :tree

  def files = Dir.glob("heap_sampler/**/*.c", base: @tree).sort

  # "FILE: MESSAGE", sorted; of our files, and where a header is missing.
  def errors(files = self.files)
    queue = files.each_with_object(Queue.new) { |file, all| all << file }.close
    Array.new(Etc.nprocessors) { Thread.new { errors_of(queue) } }.flat_map(&:value).uniq.sort
  end

  private

  def copy(names, from)
    names.each do |name|
      FileUtils.mkdir_p(File.dirname("#{@tree}/#{name}"))
      FileUtils.cp("#{from}/#{name}", "#{@tree}/#{name}")
    end
  end

  def lay(headers, release)
    copy(Dir.glob("**/*.h", base: headers), headers)
    version = "#{@tree}/include/ruby/version.h"
    major, minor = release.split(".")
    text = File.read(version)
    text.sub!(/(RUBY_API_VERSION_MAJOR) \d+/, "\\1 #{major}") && text.sub!(/(RUBY_API_VERSION_MINOR) \d+/, "\\1 #{minor}") or raise
    File.write(version, text)
    File.readlines("#{TOP}/patches/3.4/series", chomp: true).each { |patch| apply(patch, headers) }
  end

  # The part of a patch that changes headers which were laid over. Context may differ: it is read here, not shipped.
  def apply(patch, headers)
    File.read("#{TOP}/patches/3.4/#{patch}").split(/^(?=--- a\/)/).drop(1).each do |part|
      next unless File.exist?("#{headers}/#{part[%r{\A--- a/(\S+\.h)$}, 1] || next}")

      said, status = Open3.capture2e("patch", "-d", @tree, "-p1", "-F3", "-N", "--no-backup-if-mismatch", stdin_data: part)
      raise "#{patch}: #{said}" unless status.success?
    end
  end

  def errors_of(queue)
    found = []
    while (file = queue.pop)
      said, = Open3.capture2e({"LC_ALL" => "C"}, "gcc", *FLAGS, *includes, file, chdir: @tree)
      found.concat(said.lines(chomp: true).filter_map { |line| error_in(line.delete_prefix("./")) })
    end
    found
  end

  def error_in(line)
    error = ERROR.match(line)
    "#{error[:file]}: #{error[:message]}" if error && (error[:fatal] || OURS.match?(error[:file]))
  end

  # What the build generates: config.h, id.h, probes.h.
  def includes = ["-I.", "-Iinclude", "-I#{File.dirname(config)}/..", "-I#{BUILD}/obj"]

  def config = Dir["#{BUILD}/obj/.ext/include/*/ruby/config.h"].first || raise("#{BUILD}/obj has no config.h: run make build")
end
