# frozen_string_literal: true

require "heapsample"

# What malloc gave, by the profile and in truth.
module Charged
  # One row of a profile. functions and libraries: of the native frames above Ruby, leaf first; library: whose code
  # called malloc; ruby: the frames below, leaf first.
  Row = Struct.new(:kind, :library, :functions, :libraries, :ruby, :samples, :space, :variance, keyword_init: true) do
    def line_in(path) = ruby.find { |frame| frame.path == path && frame.lineno > 0 }&.lineno
    def root = ruby.last&.label
    # Without what gcc adds to the names of clones.
    def function = functions.first&.sub(/(\.(part|isra|constprop|cold|lto_priv)\.?\d*)+\z/, "")
  end

  module_function

  # Rows of a profile: what lives, slots and malloc.
  def rows(profile = GC.sample_profile.to_profile)
    profile.rows.map do |row|
      native = row.stack.take_while(&:native?)
      Row.new(kind: row.malloc? ? :malloc : :slots, library: row.library, functions: native.map(&:label),
              libraries: native.map(&:library), ruby: row.stack.drop(native.size),
              samples: row.inuse.samples + row.young.samples, space: row.inuse.space + row.young.space,
              variance: row.inuse.variance + row.young.variance)
    end
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
