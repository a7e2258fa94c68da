# frozen_string_literal: true

module HeapSample
  # Does a block leak: does it leave objects behind every time it runs?
  #
  #   HeapSample::RepeatedBlock.new(warmup: 2, runs: 9) { app.call(request) }.leaks
  #
  # After each run a full GC, and at the end it is asked which objects are still there, by
  # the run that made them (the GC count of their allocation).  A line leaks if it left something
  # in each third of the runs after the warm-up.  So do neither what is made once
  # and kept, nor what the next run replaces, nor a bounded cache, if it is bounded below what two
  # thirds of the runs put into it.  What leaks in fewer than one run in three may be missed: more +runs+.
  class RepeatedBlock
    RUNS = 9
    WARMUP = 2
    PARTS = 3

    # A line that leaks: +key+, +bytes+ and +objects+ it left in all runs, its class, and
    # how many of the runs left something.
    Leak = Struct.new(:key, :bytes, :objects, :class_name, :runs)

    # Array of Leak, most bytes first.
    attr_reader :leaks
    # HeapSample::Profile of all runs.
    attr_reader :profile

    def initialize(warmup: WARMUP, runs: RUNS, interval: 1, threads: nil, &block)
      raise ArgumentError, "runs must be an Integer of #{PARTS} or more, not #{runs.inspect}" unless runs.is_a?(Integer) && runs >= PARTS
      raise ArgumentError, "warmup must be an Integer of 0 or more, not #{warmup.inspect}" unless warmup.is_a?(Integer) && warmup >= 0

      @runs = runs
      @block = block
      @threads = threads
      warmup.times { BlockRun.call(block) }
      counts = Array.new(runs + 1, 0)
      @profile = BlockRun.profile(interval: interval, threads: threads) do
        # Nothing here makes an object that stays.
        index = 0
        while index < runs
          GC.start
          counts[index] = GC.count
          BlockRun.call(block)
          index += 1
        end
        counts[runs] = GC.count + 1
      end
      @leaks = find(counts)
    end

    # For a person.
    def message
      lines = leaks.to_h { |leak| [leak.key, [leak.bytes, leak.objects, leak.class_name]] }
      layout = Layout.new(root: Dir.pwd)
      left = BlockRun.objects(leaks.sum(&:objects), layout)
      BlockRun.failure("The block leaks: after #{@runs} runs, each followed by a full GC, #{layout.bytes(leaks.sum(&:bytes))} in #{left} from most runs are still live.",
                       lines, profile, BlockRun.holders(@block, lines.keys, runs: PARTS, threads: @threads))
    end

    def inspect
      "#<#{self.class} #{leaks.empty? ? "no leak" : leaks.map { |leak| Layout.new.place(leak.key) }.join(", ")}>"
    end

    private

    def find(counts)
      keys = Keys.new(profile, :line)
      found = BlockRun.retained(profile).group_by { |row| keys.of(row.columns) }.filter_map do |key, rows|
        runs = rows.map { |row| run_of(row, counts) }.compact.uniq
        next unless runs.map { |run| run * PARTS / @runs }.uniq.size == PARTS

        bytes, objects, name = BlockRun.by_line(profile, rows).values.first
        Leak.new(key, bytes, objects, name, runs.size)
      end
      found.sort_by.with_index { |leak, index| [-leak.bytes, index] }
    end

    # Which run made it: the last that began at or before the GC count of the allocation.
    def run_of(row, counts)
      return unless row.allocation_gc   # YJIT's

      after = counts.bsearch_index { |count| count > row.allocation_gc } || counts.size
      after - 1 if after.between?(1, @runs)
    end
  end
end
