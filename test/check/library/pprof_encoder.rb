# frozen_string_literal: true

require "tempfile"
require "zlib"

# Writes a raw profile as the sampler's C code does; doc/format.md.  Slow and
# plain: the other side of what the reader is tested with.
class PprofEncoder
  TYPES = %w[alloc_objects alloc_space inuse_objects inuse_space].freeze
  # Fields of Row, by number.
  FIELDS = {2 => :thread, 3 => :type, 4 => :slot_size, 5 => :inuse, 9 => :young, 13 => :alloc, 17 => :freed, 21 => :freed_gcs, 22 => :memsize, 24 => :holds_free,
            25 => :holds_free_variance, 26 => :holds_free_pinned, 27 => :unshared, 28 => :unshared_variance, 29 => :unshared_allocated}.freeze

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

  # +types+ and +packed+: write a file that other tools could have written; +meta+ nil: it has nothing that is only ours; or bytes.
  def initialize(raw, types: TYPES, packed: true, meta: raw[:meta])
    @raw = raw
    @types = types
    @packed = packed
    @meta = meta.is_a?(Hash) ? HeapSample::MetaMessage.encode(meta) : meta
    @strings = {"" => 0}
  end

  def encode
    out = "".b
    @types.each { |type| out << message(1, number(1, string(type)) + number(2, string("count"))) }
    out << number(9, @raw[:meta]["started_ns"].to_i)
    out << message(1000, @meta) if @meta
    rows = @raw[:rows].map { |row| HeapSample::Columns.to_h(row) }
    groups = @meta ? rows.group_by { |row| row.values_at(:stack, :class, :malloc, :library, :label_set) }.values : rows.map { |row| [row] }
    groups.each { |group| out << message(2, sample(group)) }
    out << locations
    @strings.each_key { |text| out << message(6, text.b) }
    out
  end

  private

  def sample(rows)
    ids = []
    node = rows.first[:stack]
    until node.zero?
      ids << @raw[:nodes][node * 2 + 1] + 1
      node = @raw[:nodes][node * 2]
    end
    ids << no_stack_id if ids.empty?
    numbers(1, ids) + numbers(2, values(rows)) + labels(rows.first) + (@meta ? rows.map { |row| message(1000, fields(row)) }.join : "")
  end

  def values(rows)
    @types.map { |type| rows.sum { |row| row.key?(type.to_sym) ? row[type.to_sym].round : 1 } }
  end

  # Each, also where it follows from others.
  def fields(row)
    out = row[:allocation_gc] ? varint(1 << 3) + varint(row[:allocation_gc]) : "".b
    FIELDS.each do |field, name|
      if %i[inuse young alloc freed].include?(name)
        %w[samples objects space variance].each_with_index { |figure, place| out << varint(field + place << 3) << varint(row[:"#{name}_#{figure}"].round) }
      elsif name == :type
        out << number(field, string(@raw[:texts][row[:type]]))
      else
        out << varint(field << 3) << varint(row[name].round)
      end
    end
    out << varint(23 << 3) << varint(row[:resident].round)
  end

  def labels(row)
    text = ->(name) { @raw[:texts][row[name]] }
    out = label("class", string(text[:class]))
    if row[:malloc]
      out << label("kind", string("malloc"))
      out << label("library", string(text[:library])) unless text[:library].empty?
    end
    text[:label_set].split("\n") { |line| line.split("=", 2).then { |name, value| out << label(name, string(value)) } }
    out
  end

  def label(key, value)
    message(3, number(1, string(key)) + number(2, value))
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

  def address(id) = (1 << 62) + id

  def location(id, label, path, line)
    message(4, number(1, id) + number(2, 1) + number(3, address(id)) + message(4, number(1, id) + number(2, line))) +
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
