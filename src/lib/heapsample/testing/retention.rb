# frozen_string_literal: true

module HeapSample
  # What a block leaves behind: the objects it made that are alive when it has returned
  # and a full GC has run, with what they hold outside their slots.
  #
  #   HeapSample::Retention.new { cache.fetch(1) }.bytes
  #
  # At an +interval+ of 1, the default, each object counts and #bytes is exact.  If there are more
  # than some 200,000 at once the interval grows: then it is an estimate, in which a large buffer
  # behind a small object may be missed.  Not counted are the VM's caches of call sites and
  # constants, which belong to the code, and what other threads make; +threads+: :all
  # counts it.  The block runs +warmup+ times before, unobserved.
  class Retention
    # Bytes.
    attr_reader :bytes
    # HeapSample::Profile of it.
    attr_reader :profile

    def initialize(interval: 1, threads: nil, warmup: 0, &block)
      body = block            # makes the Proc here, not where it is counted
      warmup.times { BlockRun.call(body) }
      @profile = BlockRun.profile(interval: interval, threads: threads) { BlockRun.call(body) }
      @block = body
      @threads = threads
      @rows = BlockRun.retained(@profile)
      @bytes = @rows.sum { |row| row[:memsize] }
    end

    # The 95% interval of #bytes: a point if every object was sampled.
    def interval
      slots = @rows.each_with_object(Estimate.new) { |row, sum| sum.add(row.inuse) }
      return [bytes, bytes] if slots.zero?

      slots.space_interval.map { |limit| limit * bytes / slots.space }
    end

    # Is it for certain more than +limit+ bytes?
    def more_than?(limit) = interval.first > limit

    # For a person, with a +limit+ that was passed.
    def message(limit)
      layout = Layout.new(root: Dir.pwd)
      low, high = interval
      error = high - low < 1 ? "" : " (95%: #{layout.range(low, high)})"
      held = BlockRun.objects(@rows.sum { |row| row.inuse.objects }, layout)
      lines = BlockRun.by_line(profile, @rows)
      BlockRun.failure("The block retains #{layout.bytes(bytes)}#{error} in #{held}; at most #{layout.bytes(limit)} are allowed.", lines, profile,
                       BlockRun.holders(@block, lines.keys, runs: 1, threads: @threads))
    end

    def inspect
      "#<#{self.class} #{Layout.new.bytes(bytes)}>"
    end
  end
end
