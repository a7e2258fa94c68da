# frozen_string_literal: true

# The same questions of malloc's side: bias, spread, variance and coverage, on known loads of malloc, of live,
# allocated and freed memory, and of growth between two profiles.
#
# Each load runs in a process of its own; each trial there starts sampling anew.
# Usage: [TRIALS=2000] ruby malloc_trials.rb
require "fiddle"
require "rbconfig"
require "heapsample"
require_relative "../../testing" unless ARGV[0] == "--load"
require_relative "judging"

module Load
  # sizes: of every object, as asked for. lines: 1, or one a size.
  Kind = Struct.new(:interval, :sizes, :lines)

  # As many bytes of each size.
  def self.mixed(sizes, bytes) = sizes.flat_map { |size| [size] * (bytes / size) }

  MIXED = [48, 208, 800, 3000, 12_000, 50_000, 100_000].freeze
  ALL = {
    "100 bytes, many samples" => Kind.new(16_384, [100] * 20_000, 1),
    "100 bytes, 20 samples" => Kind.new(16_384, [100] * 2_940, 1),
    "100 bytes, 5 samples" => Kind.new(16_384, [100] * 735, 1),
    "4 KB, p of 22%" => Kind.new(16_384, [4096] * 400, 1),
    "4 KB, 5 samples" => Kind.new(524_288, [4096] * 640, 1),
    "100 KB" => Kind.new(524_288, [100_000] * 200, 1),
    "1 MB" => Kind.new(524_288, [1_000_000] * 300, 1),
    "mixed sizes on one line" => Kind.new(65_536, mixed(MIXED, 400_000), 1),
    "mixed sizes on one line, few samples" => Kind.new(524_288, mixed(MIXED, 400_000), 1),
    "4 KB at an interval that is no power of two" => Kind.new(50_000, [4096] * 400, 1),
    "mixed sizes, a line each" => Kind.new(131_072, mixed(MIXED, 3_000_000), MIXED.size),
  }.freeze

  module_function

  # Each size from a line of its own: stacks differ.
  def allocate(size, line)
    case line
    when 0 then Fiddle.malloc(size)
    when 1 then Fiddle.malloc(size)
    when 2 then Fiddle.malloc(size)
    when 3 then Fiddle.malloc(size)
    when 4 then Fiddle.malloc(size)
    when 5 then Fiddle.malloc(size)
    else Fiddle.malloc(size)
    end
  end
  FIRST_LINE = method(:allocate).source_location[1] + 2

  # What malloc sets aside for so many bytes: the estimates are of that.
  def usable(size)
    @usable_size ||= Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc_usable_size"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T)
    address = Fiddle.malloc(size)
    @usable_size.call(address)
  ensure
    Fiddle.free(address)
  end
end

# One trial: of each line and each figure [samples, bytes, variance]. Every second block is freed between two profiles.
def trial(plan, lines)
  addresses = Array.new(plan.size)
  GC::SampleProfile.start(interval: 1 << 40)
  plan.each_with_index { |(size, line), i| addresses[i] = Load.allocate(size, line) }
  before = by_line(GC.sample_profile, lines)
  addresses.each_with_index { |address, i| Fiddle.free(address) if i.odd? }
  after = by_line(GC.sample_profile, lines)
  GC::SampleProfile.stop
  addresses.each_with_index { |address, i| Fiddle.free(address) if i.even? }
  Array.new(lines) do |line|
    {inuse: before[line][:inuse], alloc: after[line][:alloc], freed: after[line][:freed], half: after[line][:inuse]}
  end
end

def by_line(profile, lines)
  rows = profile.rows.select { |row| row.class_name == "(malloc)" }
  rows = rows.select { |row| row.stack.any? { |frame| frame.label.end_with?("Load.allocate") } }
  of_line = rows.group_by { |row| row.stack.find { |frame| frame.label.end_with?("Load.allocate") }.lineno }
  Array.new(lines) do |line|
    of = of_line.fetch(Load::FIRST_LINE + line, [])
    %i[inuse alloc freed].to_h do |figure|
      estimates = of.map { |row| row.public_send(figure) }
      [figure, [estimates.sum(&:samples), estimates.sum(&:space), estimates.sum(&:variance)]]
    end
  end
end

# In the process of a load: of each line and each figure, [name, sizes of the blocks that it is of, results]
def figures(name, count)
  load = Load::ALL.fetch(name)
  raise "malloc at #{GC::SampleProfile.stat[:malloc_interval]}" unless GC::SampleProfile.stat[:malloc_interval] == load.interval

  GC::SampleProfile.stop
  GC.start
  sizes = load.sizes.uniq
  plan = load.sizes.map { |size| [size, load.lines == 1 ? 0 : sizes.index(size)] }
  trial(plan, load.lines)
  results = Array.new(count) do |i|
    GC.disable
    trial(plan, load.lines).tap { GC.enable; GC.start if i % 50 == 0 }
  end
  usable = sizes.to_h { |size| [size, Load.usable(size)] }
  # Blocks of the plan that a figure is of: blocks live at first and blocks ever allocated are all; freed is every second one.
  of = {inuse: ->(_i) { true }, alloc: ->(_i) { true }, freed: :odd?.to_proc, half: :even?.to_proc}
  of.flat_map do |figure, which|
    objects = ->(line) { plan.each_with_index.filter_map { |(size, at), i| usable[size] if which[i] && (!line || at == line) } }
    lines = Array.new(load.lines) { |line| ["#{figure} of #{sizes[line]} bytes", objects[line], results.map { |rows| rows[line][figure] }] }
    next lines if load.lines == 1

    lines << ["#{figure} of all", objects[nil], results.map { |rows| rows.map { |row| row[figure] }.transpose.map(&:sum) }]
  end
end

if ARGV[0] == "--load"
  $stdout.binmode.write(Marshal.dump(figures(ARGV[1], Integer(ARGV[2]))))
  exit
end

class MallocTrialsTest < Test
  include Judging

  COUNT = Integer(ENV["TRIALS"] || 2000)

  Load::ALL.each do |name, load|
    test "malloc, #{name}: estimates are unbiased, their spread is what the model states, and intervals hold the truth" do
      options = ["--disable=gems", "--heap-sample=output=none,interval=1t,malloc=#{load.interval}"]
      result = IO.popen([RbConfig.ruby, *options, __FILE__, "--load", name, COUNT.to_s], "rb", &:read)
      assert_predicate $?, :success?
      Marshal.load(result).each { |what, objects, results| assert_figure(what, objects, load.interval, results) }
    end
  end

  private

  # objects: usable sizes of all that was allocated.
  def assert_figure(what, objects, interval, results)
    count = results.size
    truth = objects.sum.to_f
    inclusion = objects.map { |size| 1 - Math.exp(-size / interval.to_f) }
    expected = objects.zip(inclusion).sum { |size, p| (1 - p) / p * size**2 }
    assert_unbiased results.sum { |r| r[1] } / count, truth, Math.sqrt(expected / count), "bias of #{what}"

    # A sum of few and skewed terms has a wider margin.
    fourth = objects.zip(inclusion).sum { |size, p| size**4 * (1 - p) * ((1 - p)**3 + p**3) / p**3 } / expected**2
    variance = results.sum { |r| (r[1] - truth)**2 } / count
    assert_ratio "spread of #{what}", Math.sqrt(variance / expected), Bounds.spread(count, fourth)

    own = objects.zip(inclusion).sum { |size, p| p * (1 - p) * (size**2 * (1 - p) / p**2)**2 } / expected**2
    margin = [0.1, Bounds::DEVIATIONS * Math.sqrt(own / count)].max
    assert_ratio "variance of #{what}", results.sum { |r| r[2] } / count / expected, 1 - margin..1 + margin
    assert_covered what, objects, inclusion, interval, results
  end

  def assert_covered(what, objects, inclusion, interval, results)
    truth = objects.sum.to_f
    size = truth / objects.size
    inside = results.count do |r|
      low, high = HeapSample::Statistics.interval(total: r[1], variance: r[2], size: size, unit: interval + size / 2)
      truth.between?(low - 1, high + 1) # bytes are whole
    end
    narrow = objects.uniq.one? && inclusion.sum >= 20 && inclusion[0] < 0.8
    assert_ratio "coverage of #{what}", inside.fdiv(results.size), Bounds.share(results.size, 0.93, narrow ? 0.97 : 1)
  end
end
