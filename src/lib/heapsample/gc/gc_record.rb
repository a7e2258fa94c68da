# frozen_string_literal: true

require "json"

module HeapSample
  # All GCs of a process, in a bounded list: what each was for, what it took, and what it left.
  #
  #   GCRecord.of(profile.info).entries.last.pause   #=> 0.0041
  #
  # It is from the profile of a Ruby with the sampler, or from a file that heapsample/gc_log wrote on another Ruby. Then
  # #missing names the columns that this Ruby does not give.
  class GCRecord
    # A GC, or several that followed each other: #gcs is how many.
    #
    # [gc]          the GC count from the last of them on
    # [time]        when the first began, a Time
    # [gcs, majors] how many GCs, and how many of them were major
    # [reason]      why there was the GC that took longest: a key of REASONS
    # [mark, sweep] CPU time of all, in seconds
    # [pause]       the longest time, in seconds, that Ruby code stood still
    # [allocated]   objects allocated since the GC before
    # [promoted]    objects that minor GCs made old; of major GCs this is not counted
    # [pages, free_slots, old_objects]  of the heap, after the last; free slots: up to the next GC
    #
    # What is not known is nil.
    Entry = Struct.new(:gc, :time, :gcs, :majors, :reason, :mark, :sweep, :pause, :allocated, :promoted, :pages, :free_slots, :old_objects) do
      # CPU time.
      def took = mark.to_f + sweep.to_f

      # One entry for this and the next.
      def join(other)
        slower = [self, other].max_by(&:took)
        sum = ->(name) { [self[name], other[name]].compact.then { |values| values.sum if values.any? } }
        self.class.new(other.gc, time, gcs + other.gcs, majors + other.majors, slower.reason, sum[:mark], sum[:sweep], [pause, other.pause].compact.max,
                       sum[:allocated], sum[:promoted], other.pages, other.free_slots, other.old_objects)
      end
    end

    # GCs of one reason: how many, CPU time of all, and the longest pause, in seconds; nil: not known.
    Cause = Struct.new(:reason, :gcs, :seconds, :pause)

    # Names of the reasons, in the order of the sampler, and what each means.
    REASONS = {
      "newobj" => "no free slot", "malloc" => "malloc limit", "method" => "GC.start(full_mark: false)", "capi" => "C code", "stress" => "GC.stress",
      "nofree" => "too few free slots after a minor GC", "oldgen" => "old objects above the limit", "shady" => "objects without write barrier above the limit",
      "oldmalloc" => "malloc limit of old objects", "force" => "GC.start or GC.compact", "sampler" => "the sampler (diagnose)"
    }.freeze
    COLUMNS = Entry.members.freeze
    # Of a file of heapsample/gc_log.
    ENDING = ".gc.json"
    FORMAT = 1
    FILE_MOST = 4 << 20

    WIDTH = 13
    US_PER_S = 1e6
    MS_PER_S = 1000r
    NS_PER_S = 1e9
    # A number that is larger is nonsense.
    MOST = 1 << 60
    private_constant :WIDTH, :US_PER_S, :MS_PER_S, :NS_PER_S, :MOST

    # Array of Entry, oldest first; Array of Cause, of all GCs since the process began.
    attr_reader :entries, :causes
    # CPU time of the process in seconds; nil: not known.
    attr_reader :cpu
    # Names of columns that are not known, an Array of Symbol.
    attr_reader :missing
    # Process id, its title, and the Ruby: nil where they are not known.
    attr_reader :process_id, :title, :ruby
    # The profile that it is from; nil of a file of heapsample/gc_log.
    attr_accessor :profile

    class << self
      # call-seq:
      #   GCRecord.of(meta) -> record or nil
      #
      # Of the header of a profile, a Meta; nil if it has no record.
      def of(meta)
        gc = meta.values["gc"]
        return unless gc.is_a?(Hash) && numbers?(gc["log"]) && gc["log"].any?

        cpu = gc["cpu_ns"]
        new(decode(gc["log"]), causes(gc["causes"]), cpu: (cpu / NS_PER_S if cpu.is_a?(Integer) && cpu.positive?), process_id: meta.process_id, title: meta.title, ruby: meta.ruby)
      end

      # call-seq:
      #   GCRecord.load(path) -> record
      #
      # Of a file that heapsample/gc_log wrote. Raises FormatError if it is damaged.
      def load(path)
        raise FormatError, "#{path}: is too large for a GC log" if File.size(path) > FILE_MOST

        read(JSON.parse(File.read(path, encoding: "UTF-8")))
      rescue JSON::ParserError, EncodingError, TypeError, NoMethodError, KeyError, ArgumentError => e
        raise FormatError, "#{path}: is not a GC log: #{Printable.text(e.message[0, 100])}"
      end

      private

      def numbers?(list)
        list.is_a?(Array) && (list.size % WIDTH).zero? && list.all? { |number| number.is_a?(Integer) && number.between?(0, MOST) }
      end

      def decode(numbers)
        gc = ms = pages = free = old = 0
        numbers.each_slice(WIDTH).map do |row|
          gc, ms = gc + row[0], ms + row[1]
          pages, free, old = [pages, free, old].zip(row.last(3)).map { |before, code| before + signed(code) }
          mark, sweep, pause = row[5, 3].map { |us| us / US_PER_S }
          Entry.new(gc, Time.at(ms / MS_PER_S), row[2], row[3], REASONS.keys[row[4]], mark, sweep, pause, row[8], row[9], pages, (free if free.positive?), old)
        end
      end

      def signed(code) = code.even? ? code / 2 : -(code + 1) / 2

      def causes(list)
        (list.is_a?(Array) ? list : []).filter_map do |cause|
          reason, gcs, ns, pause = cause.values_at("reason", "gcs", "ns", "longest_stop_ns")
          Cause.new(reason, gcs, ns / NS_PER_S, pause / NS_PER_S) if REASONS.key?(reason) && [gcs, ns, pause].all?(Integer)
        end
      end

      def read(data)
        raise ArgumentError, "format #{data["format"].inspect}; this version reads #{FORMAT}" unless data.fetch("format") == FORMAT

        entries = data.fetch("entries").map { |row| Entry.new(*row).tap { |entry| entry.time = Time.at(Float(entry.time)) } }
        causes = data.fetch("causes").map { |row| Cause.new(*row) }
        new(entries, causes, cpu: data["cpu"], missing: data.fetch("missing").map(&:to_sym) & COLUMNS, process_id: data["process_id"], title: data["title"], ruby: data["ruby"])
      end
    end

    def initialize(entries, causes, cpu: nil, missing: [], process_id: nil, title: nil, ruby: nil)
      @entries = entries
      @causes = causes.sort_by { |cause| [-cause.seconds.to_f, -cause.gcs] }
      @cpu, @missing, @process_id, @title, @ruby = cpu, missing, process_id, title, ruby
    end

    # How many GCs and major GCs are in the list.
    def gcs = entries.sum(&:gcs)
    # See #gcs.
    def majors = entries.sum(&:majors)
    # CPU time of all GCs since the process began, in seconds.
    def seconds = causes.sum { |cause| cause.seconds.to_f }
    # The same as a part of the CPU time of the process; nil if it is not known.
    def share = (seconds / cpu if cpu.to_f.positive?)
    # The longest pause, in seconds; nil if it is not known.
    def longest_pause = [*causes.map(&:pause), *entries.map(&:pause)].compact.max
    # From the start of the first to the start of the last, in seconds.
    def span = entries.size > 1 ? entries.last.time - entries.first.time : 0.0

    def inspect
      "#<#{self.class} #{gcs} GCs of process #{process_id || "?"}>"
    end
  end
end
