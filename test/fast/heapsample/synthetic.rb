# frozen_string_literal: true

require "json"
require "pprof_writer"
require "zlib"

# A large profile as a large application would write it: +stacks+ distinct stacks
# of +depth+ frames below a tree of callers, 22 sample types, labels.  Each stack
# has a row of totals, every fourth one of objects in use as well; a tenth is of malloc.
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
    @class_labels = Array.new(CLASSES) { |index| label("class", 2, string("App::Model#{index}")) + label("type", 2, string("T_OBJECT")) }
    @slot_labels = SLOTS.to_h { |size| [size, label("slot_size", 3, size)] }
  end

  def write(path, meta)
    Zlib::GzipWriter.open(path) { |file| file.write(encode_all(meta)) }
  end

  private

  def encode_all(meta)
    out = "".b
    PprofWriter::TYPES.each { |type| out << message(1, number(1, string(type)) + number(2, string("count"))) }
    out << number(13, string(JSON.generate(meta)))
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
    labels = malloced ? malloc_labels : @class_labels[index % CLASSES] + @slot_labels[size]
    born = 1 + (@random.rand**4 * 30).to_i
    if malloced
      out << message(2, list + values(size, born / 2, born, 0, true) + labels)
    else
      out << message(2, list + values(size, 0, born, born * 3 / 4, false) + labels)
      out << message(2, list + values(size, 1 + born / 8, 0, 0, false) + labels + label("gc_birth", 3, @random.rand(1000))) if (index % 4).zero?
    end
  end

  def malloc_labels
    @malloc_labels ||= label("class", 2, string("(malloc)")) + label("type", 2, string("(malloc)")) +
                       label("kind", 2, string("malloc")) + label("library", 2, string("libxml2.so.2"))
  end

  def values(size, inuse, alloc, dead, malloced)
    @values[[size, inuse, alloc, dead]] ||= begin
      weight = 1 / (1 - Math.exp(-size / INTERVAL.to_f))
      four = [alloc, alloc * size, inuse, inuse * size].map { |value| (value * weight).round }
      variance = weight * (weight - 1) * size * size
      list = four + [inuse, alloc, (inuse * variance).round, (alloc * variance).round, 0, 0,
                     (dead * weight).round, (dead * weight * size).round, (dead * weight * 2).round] +
             (malloced ? [0] * 4 + four : four + [0] * 4) + [0]
      message(2, list.map { |value| @varints[value] }.join)
    end
  end

  def location(id)
    message(4, number(1, id) + message(4, number(1, id) + number(2, id % 500 + 1))) +
      message(5, number(1, id) + number(2, string("App::Service#{id % 900}#call_#{id}")) +
                 number(4, string("/srv/app/vendor/gems/gem#{id % 90}-1.#{id % 7}.0/lib/file#{id % 1500}.rb")))
  end

  def string(text) = @strings[text] ||= @strings.size
  def label(key, field, value) = message(3, number(1, string(key)) + number(field, value))
  def number(field, value) = value.zero? ? "".b : encode(field << 3) + encode(value)
  def message(field, bytes) = encode(field << 3 | 2) + encode(bytes.bytesize) + bytes

  def encode(value) = HeapSample::Protobuf.encode(value)
end
