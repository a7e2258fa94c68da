# frozen_string_literal: true

# Records the GCs of a Ruby without the heap sampler:
#
#   ruby -r heapsample/gc_log app.rb
#   heapsample gc .
#
# The file gc-PID-TIME.gc.json is in the working directory, or in the folder that HEAPSAMPLE_GC_LOG names.
# HeapSample::GCLog has the details.
require "json"
require "heapsample"

module HeapSample
  # Asks GC.stat and GC::Profiler ten times a second what GCs there were, and writes a GCRecord: every ten seconds, and at
  # exit. So an entry has the GCs of a tenth of a second. It does not use GC::Profiler where the program does.
  class GCLog
    # Seconds.
    PERIOD = 0.1
    EVERY = 10
    # Entries; of these, the newest, which are never joined; and parts of the time that the older ones cover.
    MOST = 256
    NEWEST = 64
    STEPS = 60
    FOLDER_VARIABLE = "HEAPSAMPLE_GC_LOG"

    class << self
      # The recorder of this process; nil if it does not record.
      attr_reader :current

      # call-seq:
      #   GCLog.start(folder = ".") -> log
      #
      # Starts to record; a forked child continues with a file of its own.
      def start(folder = ENV[FOLDER_VARIABLE] || ".")
        unless @current
          Process.singleton_class.prepend(AfterFork) if Process.respond_to?(:_fork)
          at_exit { @current&.finish }
        end
        @current = new(File.expand_path(folder)).tap(&:begin)
      end
    end

    # Threads end in a forked child.
    module AfterFork # :nodoc:
      def _fork = super.tap { |pid| GCLog.start(GCLog.current.folder) if pid.zero? && GCLog.current }
    end

    # Where the file is written, and its path.
    attr_reader :folder, :path

    def initialize(folder)
      @folder = folder
      @path = File.join(folder, "gc-#{Process.pid}-#{Time.now.utc.strftime("%Y%m%dT%H%M%S")}#{GCRecord::ENDING}")
      @entries = []
      @causes = Hash.new { |causes, reason| causes[reason] = [0, 0.0] }
      @lock = Thread::Mutex.new
      @cpu_before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      @own_profiler = !GC::Profiler.enabled?
    end

    def begin # :nodoc:
      GC::Profiler.enable if @own_profiler
      GC::Profiler.clear if @own_profiler
      @before = look
      @thread = Thread.new { run }
      @thread.name = "heapsample gc_log"
      @thread.report_on_exception = false
    end

    def finish # :nodoc:
      @thread&.kill
      @lock.synchronize { poll }
      write
    end

    # call-seq:
    #   poll -> Integer
    #
    # Records what GCs there were since the last call; how many.
    def poll
      now = look
      gcs = now[:count] - @before[:count]
      return 0 if gcs.zero?

      add_entry(now, gcs, add_causes(now, gcs))
      @before = now
      gcs
    end

    # call-seq:
    #   to_h -> Hash
    #
    # What the file has.
    def to_h
      {format: GCRecord::FORMAT, generator: "heapsample/gc_log", ruby: RUBY_DESCRIPTION, process_id: Process.pid, title: $PROGRAM_NAME.to_s.scrub,
       cpu: Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - @cpu_before, missing: missing,
       entries: @entries.map { |entry| entry.to_a.tap { |row| row[1] = row[1].to_f } }, causes: @causes.map { |reason, (count, seconds)| [reason, count, seconds, nil] }}
    end

    private

    # The last one is written without delay.
    def run
      written = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      loop do
        sleep PERIOD
        @lock.synchronize { poll }
        next if Process.clock_gettime(Process::CLOCK_MONOTONIC) - written < EVERY

        write
        written = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end

    def write
      @lock.synchronize { AtomicFile.write(@path, JSON.generate(to_h)) }
    rescue SystemCallError => e
      warn "heapsample/gc_log: #{@path}: #{e.message}" unless @warned
      @warned = true
    end

    def look
      stat = GC.stat
      {**stat, nanoseconds: (GC.total_time if GC.respond_to?(:total_time)), at: Time.now}
    end

    # GC.stat has whole milliseconds.
    def add_entry(now, gcs, reason)
      step = ->(name) { now[name] - @before[name] if now[name] }
      mark, sweep = [step[:marking_time], step[:sweeping_time]].map { |ms| ms && ms / 1000.0 }
      @entries << GCRecord::Entry.new(now[:count], @before[:at], gcs, step[:major_gc_count], reason, mark || total(now), sweep, nil, step[:total_allocated_objects], nil,
                                      now[:heap_allocated_pages], now[:heap_available_slots] - now[:heap_live_slots], now[:old_objects])
      fold if @entries.size > MOST
    end

    def total(now) = now[:nanoseconds] && ((now[:nanoseconds] - @before[:nanoseconds]) / 1e9)

    # GC::Profiler has the reason of each GC, and how long it took at first, without lazy sweeping: the exact time of all is
    # divided in proportion. The reason that took most.
    def add_causes(now, gcs)
      found = profiled.last(gcs).map { |record| [reason(record[:GC_FLAGS]), record[:GC_TIME].to_f] }
      found = Array.new(gcs) { [reason(GC.latest_gc_info), 1.0] } if found.empty?
      sum = found.sum(&:last)
      scale = sum.positive? ? total(now).to_f / sum : 0.0
      found.each do |name, time|
        @causes[name][0] += 1
        @causes[name][1] += time * scale
      end
      found.max_by(&:last).first
    end

    def profiled
      return [] unless @own_profiler

      GC::Profiler.raw_data.to_a.tap { GC::Profiler.clear }
    end

    def reason(info) = (info[:major_by] || info[:gc_by] || :newobj).to_s.then { |name| GCRecord::REASONS.key?(name) ? name : "capi" }

    def missing = [*(:sweep unless @before[:marking_time]), :pause, :promoted]

    # As the sampler does (sampling/gc_log.c).
    def fold
      older = @entries.first(MOST - NEWEST)
      step = (@entries[older.size].time - older.first.time) / STEPS
      kept = [older.first]
      older.each_with_index.drop(1).each do |entry, index|
        @entries[index + 1].time - kept.last.time > step ? kept << entry : kept[-1] = kept.last.join(entry)
      end
      @entries = kept + @entries.drop(older.size)
    end
  end
end

HeapSample::GCLog.start
