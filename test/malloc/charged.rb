# frozen_string_literal: true

# What malloc gave, by the profile and in truth.
module Charged
  # One row of a profile. functions: native frames above Ruby, leaf first; libraries: their files; ruby: [label, path,
  # line] of the frames below.
  Row = Struct.new(:kind, :functions, :libraries, :ruby, :samples, :space, :variance, keyword_init: true) do
    def line_in(path) = ruby.find { |_, ruby_path, line| ruby_path == path && line > 0 }&.last
    def root = ruby.last&.first
    # Without what gcc adds to the names of clones.
    def function = functions.first&.sub(/(\.(part|isra|constprop|cold|lto_priv)\.?\d*)+\z/, "")
  end

  module_function

  # Rows of a GC::SampleProfile: what lives, slots and malloc.
  def rows(profile = GC.sample_profile)
    raw = profile.raw
    texts = raw[:texts]
    frames = raw[:frames].each_slice(4).map { |label, path, _, line| [texts[label], texts[path], line] }
    nodes = raw[:nodes].each_slice(2).to_a
    raw[:rows].map { |row| row(row, texts, stack(row[0], nodes, frames)) }
  end

  def row(row, texts, stack)
    malloc = texts[row[1]] == "(malloc)"
    native = malloc ? stack.take_while { |_, path, line| line.zero? && path.start_with?("/") } : []
    inuse, young = row[6, 4], row[10, 4]
    Row.new(kind: malloc ? :malloc : :slots, functions: native.map(&:first), ruby: stack.drop(native.size),
            libraries: native.map { |_, path, _| File.basename(path) },
            samples: inuse[0] + young[0], space: inuse[2] + young[2], variance: inuse[3] + young[3])
  end

  def stack(node, nodes, frames)
    list = []
    until node.zero?
      list << frames[nodes[node][1]]
      node = nodes[node][0]
    end
    list
  end

  # jemalloc's own count of what this thread allocated less what it freed: exact, and unlike stats.allocated not
  # distorted by sampling (a small object that is sampled gets 16 KiB, which stats.allocated counts).
  def bytes_of_this_thread
    @counters ||= %w[thread.allocatedp thread.deallocatedp].map { |name| counter(name) }
    allocated, freed = @counters.map { |pointer| pointer[0, 8].unpack1("Q") }
    allocated - freed
  end

  def counter(name)
    require "fiddle"
    mallctl = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mallctl"],
                                   [Fiddle::TYPE_VOIDP] * 4 + [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT)
    value = Fiddle::Pointer.malloc(8)
    size = Fiddle::Pointer.malloc(8)
    size[0, 8] = [8].pack("Q")
    raise "no mallctl #{name}" unless mallctl.call(name, value, size, nil, 0).zero?

    Fiddle::Pointer.new(value[0, 8].unpack1("Q"), 8)
  end

  # Kilobytes of /proc/self/status: VmSize, VmRSS.
  def status(name) = File.read("/proc/self/status")[/^#{name}:\s+(\d+)/, 1].to_i
end
