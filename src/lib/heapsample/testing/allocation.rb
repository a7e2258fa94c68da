# frozen_string_literal: true

module HeapSample
  # What a block allocates.
  #
  #   HeapSample::Allocation.new { app.call(request) }.objects
  #
  # With the sampler every object of the calling thread is counted, and its line is known; +threads+: :all counts other threads, too.
  # On another Ruby the objects of the process are counted. The block runs +warmup+ times before, so that caches of the VM are
  # filled. Objects of the VM's own caches do not count where they are known.
  class Allocation
    # Objects; an estimate if there are more than some 200,000 live ones.
    attr_reader :objects
    # HeapSample::Profile of it; nil on a Ruby without the sampler.
    attr_reader :profile

    def initialize(warmup: 1, threads: nil, &block)
      raise ArgumentError, "warmup must be an Integer of 0 or more, not #{warmup.inspect}" unless warmup.is_a?(Integer) && warmup >= 0

      warmup.times { block.call }
      BlockRun.possible? ? sample(threads, block) : count(block)
    end

    # Is it for certain more than +limit+ objects?
    def more_than?(limit) = (@sum&.interval(:objects)&.first || objects) > limit

    # For a person, with a +limit+ that was passed: three lines, and the stack.
    def message(limit, layout: Layout.new(root: Dir.pwd))
      first = "The block allocates #{BlockRun.objects(objects, layout)}; at most #{layout.count(limit)} are allowed."
      return [first, "Counted for the whole process, all threads.", "A Ruby with the heap sampler shows the line."].join("\n") unless profile

      [first, "Counted for the #{@threads ? "whole process, all threads" : "thread that runs the block"}.", *Allocation.most(profile, layout)].join("\n")
    end

    # The objects that a block allocates, each of them: a HeapSample::Profile.
    def self.profile(threads, block) = GC.sample_profile(interval: 1, threads: threads, &block).to_profile.filter(kind: :slots) # :nodoc:

    # The line that allocated most, and its stack, up to the block.
    def self.most(profile, layout) # :nodoc:
      top = profile.top(by: :line, value: :alloc_objects, top: 1)
      entry = top.first or return []
      stack = top.came_by.frames(entry.key).take_while { |frame| frame.full_path != __FILE__ }
      ["Most objects are from #{layout.subject(entry.key)}: #{layout.count(entry.value)}.", *stack.map { |frame| "    #{layout.place(Place.of(frame))}" }]
    end

    private

    # The first call fills caches.
    def count(block)
      @objects = [proc {}, block].map { |one| counted(one) }.last
    end

    def counted(block)
      before = GC.stat(:total_allocated_objects)
      block.call
      GC.stat(:total_allocated_objects) - before
    end

    def sample(threads, block)
      @threads = threads
      @profile = Allocation.profile(threads, block)
      rows = @profile.rows.reject { |row| BlockRun::CODE.match?(row.class_name) || row.stack.first&.full_path == __FILE__ }
      @sum = rows.each_with_object(Estimate.new) { |row, sum| sum.add(row.alloc) }
      @objects = @sum.objects
    end
  end
end
