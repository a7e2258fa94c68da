# frozen_string_literal: true

# Prints what is true about programs of the zoo, measured without the sampler: see measure.
require "fileutils"
require_relative "exhibit"
require_relative "gem_folder"

# What probe.rb wrote of one process.
class Measured
  LEVEL = 0.97

  attr_reader :rows

  def initialize(path)
    @rows = File.readlines(path).map { |line| line.split("\t").map { |number| Float(number) } }
  end

  def short? = rows.size < 4

  # [seconds, bytes alive]
  def sizes = rows.map { |seconds, slots, malloc| [seconds, slots + malloc] }
  def peak = sizes.map(&:last).max
  def last = sizes.last.last
  def cpu = rows.last[6] / rows.last[0]

  # The first moment at which it had grown by 97% of the most by which it ever grows.
  def level
    first = sizes.first.last
    sizes.find { |_, bytes| bytes - first >= LEVEL * (peak - first) }.first
  end

  # Bytes a second by least squares, from `from` seconds on.
  def rate(from)
    points = sizes.select { |seconds, _| seconds >= from }
    return 0 if points.size < 3

    mean = points.transpose.map { |numbers| numbers.sum / numbers.size }
    points.sum { |x, y| (x - mean[0]) * (y - mean[1]) } / points.sum { |x, _| (x - mean[0])**2 }
  end

  def curve(width = 16)
    sizes.each_slice([sizes.size.fdiv(width).ceil, 1].max).map { |slice| format("%.1f", slice.last.last / 1e6) }.join(" ")
  end

  # Bytes a second since a leak started and its program is warm.
  def text(starts)
    span = rows.last[0]
    format("cpu %.2f  level at %4.1f s  %d B/s (thirds: %d %d %d)  threads %d  files %d  RSS %.0f MB\n    alive, MB: %s",
           cpu, level, rate([starts, span / 6].max), *[0, span / 3, 2 * span / 3].each_with_index.map { |from, index| part((index + 1) * span / 3).rate(from) },
           rows.last[4], rows.last[5], rows.last[3] / 1e6, curve)
  end

  def part(till) = dup.tap { |copy| copy.instance_variable_set(:@rows, rows.select { |row| row[0] <= till }) }
end

top = File.expand_path("../..", __dir__)
ruby = ENV.fetch("RUBY") { RbConfig.ruby }
into = File.join(top, "build/zoo/measured")
exhibits = Exhibit.all.select { |exhibit| ARGV.any? { |pattern| File.fnmatch?(pattern, exhibit.name) } }
abort "Usage: test/zoo/measure NAME…; no program is named #{ARGV.join(", ")}" if exhibits.empty?
gems = GemFolder.new(File.join(top, "build/zoo/gems"), ruby: ruby).tap { |folder| folder.install(exhibits) }

measure = lambda do |exhibit|
  folder = File.join(into, exhibit.name).tap { |path| FileUtils.rm_rf(path) }
  FileUtils.mkdir_p(folder)
  environment = { "ZOO_PROBE" => folder, "GEM_HOME" => gems.path, "GEM_PATH" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil, "RUBY_HEAP_SAMPLE" => nil,
                  **exhibit.environment }
  pid = Process.spawn(environment, ruby, "-r", File.join(__dir__, "probe.rb"), exhibit.header.path, chdir: Exhibit::PROGRAMS, in: File::NULL,
                                                                                                     %i[out err] => "#{folder}.log")
  good = Process.wait2(pid).last.success?
  texts = Dir[File.join(folder, "*.tsv")].sort.map { |path| [File.basename(path, ".tsv"), Measured.new(path)] }.reject { |_, one| one.short? }
  header = exhibit.header
  ["#{exhibit.name}: #{header.kind}, settles #{header.settles}, starts #{header.starts}, rate #{header.rate&.to_i.inspect}#{" FAILED: #{folder}.log" unless good}",
   *texts.map { |process, one| "  #{process}: #{one.text(header.starts)}" }].join("\n")
end

queue = exhibits.each_with_object(Thread::Queue.new) { |exhibit, waiting| waiting << exhibit }.close
Array.new(Integer(ENV["JOBS"] || 3)) { Thread.new { while (exhibit = queue.pop) do puts measure.call(exhibit) end } }.each(&:join)
