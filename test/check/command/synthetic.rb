# frozen_string_literal: true

require "zlib"
require_relative "../library/pprof_encoder"

# A large profile as a large application would write it: +stacks+ distinct stacks
# of +depth+ frames below a tree of callers, labels.  Each stack
# has a row of totals, every fourth one of live objects as well; a tenth is of malloc.
#
#   Synthetic.new(stacks: 200_000).write("large.pb.gz")
class Synthetic
  FRAMES = 20_000
  CLASSES = 400
  SLOTS = [40, 80, 160, 320, 640].freeze
  INTERVAL = 512 * 1024

  def initialize(stacks:, depth: 60, seed: 1)
    @stacks = stacks
    @depth = depth
    @random = Random.new(seed)
    @strings = {"" => 0}
    @varints = Hash.new { |known, value| known[value] = encode(value).freeze }
    @values = {}
    @class_labels = Array.new(CLASSES) { |index| label("class", string("App::Model#{index}")) }
  end

  def write(path, meta)
    Zlib::GzipWriter.open(path) { |file| file.write(encode_all(meta)) }
  end

  private

  def encode_all(meta)
    out = "".b
    PprofEncoder::TYPES.each { |type| out << message(1, number(1, string(type)) + number(2, string("count"))) }
    out << message(1000, HeapSample::MetaMessage.encode(meta))
    @stacks.times { |index| stack(out, index) }
    FRAMES.times { |id| out << location(id + 1) }
    @strings.each_key { |text| out << message(6, text.b) }
    out
  end

  # The frames near the root are shared by many, those at the leaf by few.
  def stack(out, index)
    ids = Array.new(@depth) do |level|
      seed = level < 15 ? index >> (2 + level / 4) : index % (50 << (@depth - level) / 9) + level
      (seed * 2_654_435_761 + level * 40_503) % FRAMES + 1
    end
    ids[0] = index % FRAMES + 1
    ids[1] = index / FRAMES + 1
    list = message(1, ids.map { |id| @varints[id] }.join)
    malloced = (index % 10).zero?
    size = malloced ? 3000 : SLOTS[@random.rand(SLOTS.size)]
    allocated = 1 + (@random.rand**4 * 30).to_i
    rows = malloced ? [[nil, allocated / 2, allocated, 0]] : [[nil, 0, allocated, allocated * 3 / 4]]
    rows << [@random.rand(1000), 1 + allocated / 8, 0, 0] if !malloced && (index % 4).zero?
    figures = rows.map { |_, *samples| figures(size, *samples) }
    sums = figures.transpose.map(&:sum).values_at(9, 10, 1, 2)
    out << message(2, list + message(2, sums.map { |value| @varints[value] }.join) + (malloced ? malloc_labels : @class_labels[index % CLASSES]) +
                      rows.zip(figures).map { |(at_gc, *), list| message(1000, row(at_gc, malloced ? 0 : size, list)) }.join)
  end

  def malloc_labels
    @malloc_labels ||= label("class", string("(malloc)")) + label("kind", string("malloc")) + label("library", string("libxml2.so.2"))
  end

  # Fields 5 to 21 of a row.
  def figures(size, inuse, alloc, freed)
    @values[[size, inuse, alloc, freed]] ||= begin
      weight = 1 / (1 - Math.exp(-size / INTERVAL.to_f))
      four = ->(samples) { [samples, samples * weight, samples * weight * size, samples * weight * (weight - 1) * size * size].map(&:round) }
      four[inuse] + [0] * 4 + four[alloc] + four[freed] + [(freed * weight * 2).round]
    end
  end

  def row(at_gc, slot_size, figures)
    (at_gc ? encode(1 << 3) + encode(at_gc) : "".b) + number(3, string(slot_size.zero? ? "(malloc)" : "T_OBJECT")) + number(4, slot_size) +
      figures.each_with_index.map { |value, place| number(5 + place, value) }.join
  end

  def location(id)
    message(4, number(1, id) + message(4, number(1, id) + number(2, id % 500 + 1))) +
      message(5, number(1, id) + number(2, string("App::Service#{id % 900}#call_#{id}")) +
                 number(4, string("/srv/app/vendor/gems/gem#{id % 90}-1.#{id % 7}.0/lib/file#{id % 1500}.rb")))
  end

  def string(text) = @strings[text] ||= @strings.size
  def label(key, value) = message(3, number(1, string(key)) + number(2, value))
  def number(field, value) = value.zero? ? "".b : encode(field << 3) + encode(value)
  def message(field, bytes) = encode(field << 3 | 2) + encode(bytes.bytesize) + bytes

  def encode(value) = HeapSample::Protobuf.encode(value)
end
