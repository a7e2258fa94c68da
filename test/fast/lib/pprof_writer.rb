# frozen_string_literal: true

require "json"
require "tempfile"
require "zlib"

# Writes a raw profile as the sampler's C code does; doc/format.md.  Slow and
# plain: the other side of what the reader is tested with.
class PprofWriter
  TYPES = %w[alloc_objects alloc_space inuse_objects inuse_space inuse_samples alloc_samples inuse_var alloc_var
             young_objects young_space dead_objects dead_space dead_gcs
             slots_alloc_objects slots_alloc_space slots_inuse_objects slots_inuse_space
             malloc_alloc_objects malloc_alloc_space malloc_inuse_objects malloc_inuse_space inuse_memsize
             inuse_resident dead_samples dead_var holds_free holds_free_var holds_free_pinned unshared unshared_var unshared_born].freeze
  # What a row calls them.
  COLUMNS = TYPES.to_h { |type| [type, type.sub(/\A(?:slots|malloc)_/, "").sub(/_var\z/, "_variance").sub(/\Ainuse_(?=memsize|resident)/, "").to_sym] }.freeze
  # Those of format 1, and of format 2.
  OLD_TYPES = TYPES.first(13).freeze
  TYPES_2 = TYPES.first(22).freeze

  # What a build becomes when it is saved and loaded.
  def self.reloaded(build, **options)
    Tempfile.create(["heap", ".pb.gz"]) do |file|
      file.binmode
      file.write(gzip(build.raw, **options))
      file.flush
      HeapSample::Profile.load(file.path)
    end
  end

  def self.gzip(raw, **options) = Zlib.gzip(new(raw, **options).encode)

  # +types+ and +packed+: write a file that other tools could have written.
  def initialize(raw, types: TYPES, packed: true, comment: JSON.generate(raw[:meta]))
    @raw = raw
    @types = types
    @packed = packed
    @comment = comment
    @strings = {"" => 0}
  end

  def encode
    out = "".b
    @types.each { |type| out << message(1, number(1, string(type)) + number(2, string("count"))) }
    out << number(9, @raw[:meta]["started_ns"].to_i)
    out << number(13, string(@comment)) if @comment
    @raw[:rows].each { |row| out << message(2, sample(HeapSample::Columns.to_h(row))) }
    out << locations
    @strings.each_key { |text| out << message(6, text.b) }
    out
  end

  private

  def sample(row)
    ids = []
    node = row[:stack]
    until node.zero?
      ids << @raw[:nodes][node * 2 + 1] + 1
      node = @raw[:nodes][node * 2]
    end
    ids << no_stack_id if ids.empty?
    numbers(1, ids) + numbers(2, values(row)) + labels(row)
  end

  def values(row)
    @types.map do |type|
      next 0 if type.start_with?(row[:malloc] ? "slots_" : "malloc_")

      COLUMNS.key?(type) ? row[COLUMNS[type]].round : 1
    end
  end

  def labels(row)
    text = ->(name) { @raw[:texts][row[name]] }
    out = label("class", 2, string(text[:class])) + label("type", 2, string(text[:type]))
    if row[:malloc]
      out << label("kind", 2, string("malloc"))
      out << label("library", 2, string(text[:library])) unless text[:library].empty?
    else
      out << label("slot_size", 3, row[:slot_size])
    end
    out << label("gc_birth", 3, row[:birth_gc]) if row[:birth_gc]
    out << label("thread", 3, row[:thread]) if row[:thread].positive?
    text[:label_set].split("\n") { |line| line.split("=", 2).then { |name, value| out << label(name, 2, string(value)) } }
    out
  end

  def label(key, field, value)
    message(3, number(1, string(key)) + number(field, value))
  end

  def no_stack_id
    @raw[:frames].size / 5 + 1
  end

  def locations
    out = "".b
    @raw[:frames].each_slice(5).with_index(1) do |(label, path, absolute, line, address), id|
      next out << native(id, label, path, address) if address > 0

      path = absolute unless @raw[:texts][absolute].empty?
      out << location(id, @raw[:texts][label], @raw[:texts][path], line)
    end
    out << location(no_stack_id, "(no stack)", "", 0) << mappings
  end

  # A mapping for each path, as none is known for most; the first of a library
  # that the raw profile has.
  def native(id, label, path, address)
    start, limit, offset = @raw[:mappings].each_slice(3).find { |from, to, _| address.between?(from, to - 1) }
    key = [path, start.to_i, limit.to_i, offset.to_i]
    mapping = (@mapping_ids ||= {})[key] ||= @mapping_ids.size + 2
    return message(4, number(1, id) + number(2, mapping) + number(3, address)) if @raw[:texts][label].empty?

    message(4, number(1, id) + number(2, mapping) + number(3, address) + message(4, number(1, id))) +
      message(5, number(1, id) + number(2, string(@raw[:texts][label])) + number(3, string(@raw[:texts][label])))
  end

  def mappings
    (@mapping_ids || {}).inject(message(3, number(1, 1) + number(7, 1))) do |out, ((path, start, limit, offset), id)|
      out << message(3, number(1, id) + number(2, start) + number(3, limit) + number(4, offset) +
                        number(5, string(@raw[:texts][path])))
    end
  end

  def location(id, label, path, line)
    message(4, number(1, id) + message(4, number(1, id) + number(2, line))) +
      message(5, number(1, id) + number(2, string(label)) + number(4, string(path)))
  end

  def string(text)
    @strings[text] ||= @strings.size
  end

  def numbers(field, values)
    return values.inject("".b) { |out, value| out << varint(field << 3) << varint(value) } unless @packed

    message(field, values.map { |value| varint(value) }.join)
  end

  def number(field, value)
    value.zero? ? "".b : varint(field << 3) + varint(value)
  end

  def message(field, bytes)
    varint(field << 3 | 2) + varint(bytes.bytesize) + bytes
  end

  def varint(value)
    out = "".b
    while value >= 0x80
      out << (value & 0x7f | 0x80)
      value >>= 7
    end
    out << value
  end
end
