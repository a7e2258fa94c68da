# frozen_string_literal: true

require "heapsample"

# Builds what the sampler hands over from readable rows:
#
#   build = Build.new(interval: 1024)
#   build.row(["app/a.rb:3 A#b", "app/main.rb:1 <main>"], "String", inuse: 20)
#   build.profile.report
#
#   build.malloc(["!/usr/lib/libfoo.so foo_new", "app/a.rb:3 A#b"], "libfoo.so", 2000, inuse: 20)
#
#   Build.new(majors: [[10, Build::STARTED, 100_000, 40_000, 1_000_000]])   # GC count, ns, objects, bytes alive, malloc
#
# Estimates are given as numbers of samples and weighted by the interval; other
# options are fields of the meta data.
class Build
  MINUTE = 60 * 1_000_000_000
  STARTED = 1_767_225_600 * 1_000_000_000     # 2026-01-01 00:00:00 UTC

  attr_reader :meta

  def initialize(interval: 512 * 1024, majors: nil, **meta)
    @interval = interval
    @texts = [""]
    @frames = []
    @frame_ids = {}
    @nodes = [0, 0]
    @node_ids = {}
    @rows = []
    @mappings = []
    @meta = {
      "format" => 1, "generator" => "heap_sampler", "ruby" => "ruby 3.4.5 (2025-07-16 revision 20cda200d3) [x86_64-linux]",
      "process_id" => 4711, "process_start" => "00000000deadbeef", "session" => 1,
      "started_ns" => STARTED, "taken_ns" => STARTED + 10 * MINUTE,
      "gc" => {"count" => 100, "minor" => 80, "major" => 20, "last_minor_ns" => STARTED + 9 * MINUTE,
               "last_major_ns" => STARTED + 9 * MINUTE + 15_000_000_000},
      "settings" => {"interval" => interval, "first_interval" => interval, "interval_changes" => 0,
                     "max_samples" => nil, "only_n" => 1, "seed" => nil},
      "live_samples" => 0,
      "drops" => {"samples" => 0, "stacks" => 0, "frames" => 0, "classes" => 0, "moves" => 0},
      "own_bytes" => 2 * 1024 * 1024,
      "heaps" => [{"slot_size" => 40, "total_slots" => 2_000_000, "live_slots" => 1_600_000, "live_at_start" => 500_000}],
      "malloc" => {"state" => "off", "interval" => nil, "first_interval" => nil, "interval_changes" => 0, "allocator" => "jemalloc 5.3.1",
                   "missing" => nil},
      "memsize" => false
    }
    meta.each { |name, value| @meta[name.to_s] = value }
    @meta["gc"] = @meta["gc"].merge("majors" => Build.majors(majors, @meta["heaps"].map { |heap| heap["slot_size"] })) if majors
  end

  # Major GCs as they are in a file: see HeapSample::Major.list. All that is alive is in the first heap.
  def self.majors(rows, slot_sizes)
    before = [0] * 5
    zigzag = ->(number) { number.negative? ? (-2 * number) - 1 : 2 * number }
    rows.flat_map do |gc, ns, objects, bytes, malloc|
      now = [gc, ns / 1_000_000, objects, malloc || before[3], bytes / slot_sizes.first]
      steps = now.zip(before).map { |one, other| one - other }
      before = now
      [*steps.first(3), malloc ? zigzag[steps[3]] + 1 : 0, zigzag[steps[4]], *([0] * (slot_sizes.size - 1))]
    end
  end

  # +stack+: "path:line label" or "path:line label @/absolute/path", leaf first.
  # freed_gcs is +lived+ GCs for each of the freed.
  def row(stack, class_name, type: "T_STRING", slot: 40, thread: 0, at_gc: nil,
          inuse: 0, young: 0, alloc: inuse + young, freed: 0, lived: 1, memsize: 0, labels: {})
    @meta["live_samples"] += inuse + young
    add(stack, text(class_name), text(type), {inuse: inuse, young: young, alloc: alloc, freed: freed}.transform_values { |samples| estimate(samples, slot) },
        lived, slot_size: slot, thread: thread, allocation_gc: at_gc, memsize: memsize, label_set: text(HeapSample::Labels.text(labels)))
  end

  # Blocks of +size+ bytes, of which +resident+ each are resident.  Without its GC count a row of totals.
  def blocks(stack, library, size, thread: 0, at_gc: nil, inuse: 0, alloc: 0, freed: 0, lived: 1, resident: size, labels: {})
    estimates = {inuse: inuse, alloc: alloc, freed: freed}.transform_values { |samples| malloc_estimate(samples, size) }
    malloc_row(stack, library, estimates, lived, thread: thread, allocation_gc: at_gc, resident: estimates[:inuse][2] * resident / size,
                                                     label_set: text(HeapSample::Labels.text(labels)))
  end

  # Blocks of one row; +ever+: samples taken there, ever.
  def malloc(stack, library, size, inuse: 0, ever: inuse, at_gc: nil) = blocks(stack, library, size, inuse: inuse, alloc: ever, at_gc: at_gc)

  # Code of a library: start, end, and offset in the file.
  def mapping(*fields)
    @mappings.concat(fields)
    self
  end

  def raw
    {meta: @meta, texts: @texts, frames: @frames, nodes: @nodes, rows: @rows, mappings: @mappings}
  end

  def profile
    HeapSample::Profile.from_raw(raw)
  end

  def weight(slot)
    1 / (1 - Math.exp(-slot / @interval.to_f))
  end

  private

  # +estimates+: part => its four columns; freed_gcs is +lived+ GCs for each of the freed.
  def add(stack, class_name, type, estimates, lived, **columns)
    fields = estimates.flat_map { |part, values| HeapSample::Columns::FIELDS.map { |field| :"#{part}_#{field}" }.zip(values) }.to_h
    @rows << HeapSample::Columns.row(stack: node(stack), class: class_name, type: type, freed_gcs: fields.fetch(:freed_objects, 0) * lived, **fields, **columns)
    self
  end

  def malloc_row(stack, library, estimates, lived, **columns)
    malloc_on
    add(stack, text("(malloc)"), text("(malloc)"), estimates, lived, library: text(library), malloc: true, **columns)
  end

  def malloc_on
    @meta["malloc"] = @meta["malloc"].merge("state" => "on", "interval" => 512 * 1024) if @meta["malloc"]["state"] == "off"
  end

  def malloc_estimate(samples, size)
    weight = 1 / (1 - Math.exp(-size / (512 * 1024.0)))
    [samples, samples * weight, samples * weight * size, samples * weight * (weight - 1) * size * size]
  end

  def estimate(samples, slot)
    weight = weight(slot)
    [samples, samples * weight, samples * weight * slot, samples * weight * (weight - 1) * slot * slot]
  end

  def text(text)
    @texts.index(text) || (@texts << text).size - 1
  end

  def node(stack)
    stack.reverse.inject(0) do |parent, line|
      @node_ids[[parent, line]] ||= begin
        @nodes << parent << frame(line)
        @nodes.size / 2 - 1
      end
    end
  end

  def frame(line)
    @frame_ids[line] ||= line.start_with?("!") ? native_frame(line) : begin
      place, absolute = line.split(" @")
      path, number, label = place.match(/\A(.*?):(\d+) (.*)\z/m).captures
      @frames << text(label) << text(path) << text(absolute.to_s) << number.to_i << 0
      @frames.size / 5 - 1
    end
  end

  # "!/path function" or "!/path function @0x1234".
  def native_frame(line)
    path, label, address = line.match(/\A!(\S*) ?(\S*?)(?: ?@0x(\h+))?\z/).captures
    @frames << text(label) << text(path) << 0 << 0 << (address ? address.hex : 0x7f00_0000_0000 + @frames.size)
    @frames.size / 5 - 1
  end
end
