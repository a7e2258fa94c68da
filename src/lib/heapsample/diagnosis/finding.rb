# frozen_string_literal: true

module HeapSample
  # One thing that grows: the memory of all lines that one holder retains; or of one line of the application, where no holder
  # is known.
  class Finding
    # Objects that stand for a thread or a fiber: their stacks are no samples.
    THREADS = /\A(?:Thread|Fiber|Enumerator)\z/
    # A cache that evicts has less than this part left of what was allocated first.
    OLDEST_LEAST = 0.6

    # call-seq:
    #   Finding.all(lines) { |answer| name } -> Array of Finding
    #
    # The largest first. The block names a holder.
    def self.all(lines)
      lines.group_by { |line| line.holder&.named? ? yield(line.holder) : [line.subject.path, line.subject.line, line.subject.path.empty? ? line.subject.label : nil] }
           .map { |_, same| new(same) }.sort_by { |finding| -finding.space }
    end

    # LineGrowths, the largest first.
    attr_reader :lines

    def initialize(lines)
      # A container follows what is put into it.
      @lines = lines.sort_by { |line| [line.container? && lines.size > 1 ? 1 : 0, -line.space] }
    end

    # The line to name first.
    def line = lines.first
    # Bytes.
    def space = lines.sum(&:space)
    # Objects, or blocks.
    def objects = lines.sum(&:objects)
    # The samples behind it.
    def samples = lines.sum(&:samples)
    # The 95% interval of #space, by sampling alone.
    def interval = (Statistics::Z * Math.sqrt(lines.sum(&:variance).abs)).then { |width| [space - width, space + width] }
    # What retains it: a NearestHolder::Answer, or nil.
    def holder = line.holder
    # The Walks::Entries of the container that is the holder; nil if it is none.
    def entries = line.entries

    # Did its entries grow as no cache does: by this factor, with none removed, and without a limit?
    def grows_without_limit?(factor)
      !entries.nil? && entries.grew?(factor) && entries.bound.nil? && (entries.gone ? entries.none_removed? : oldest_retained?)
    end

    # The part of the bytes that the holder retains, at least, as the walk found it.
    def share_held = lines.sum { |line| line.space * (line.holder&.share || 0) } / [space, 1.0].max
    # Resident bytes: blocks may not have been touched.
    def resident = lines.sum(&:resident)
    # Is it memory of C code to which no reference was found?
    def lost? = line.lost? && share(&:lost?) >= LineHolders::LOST_LEAST

    # :threads, :native or :objects.
    def kind
      return :threads if share { |line| THREADS.match?(line.class_name.to_s) } >= 0.3

      native? ? :native : :objects
    end

    # JSON-ready. The block makes bytes an hour of bytes.
    def to_h(stacks: false, &per_hour)
      {kind: kind, lost: lost?, bytes: space, interval: interval, bytes_per_hour: (yield(space) if per_hour), objects: objects, samples: samples,
       holder: (holder.to_h if holder&.known?), entries: entries&.to_h, resident_bytes: resident, lines: lines.map { |line| line.to_h(stacks: stacks, &per_hour) }}
    end

    private

    # Are as many objects left of those that were allocated first as of the last? A table is always one of the last.
    def oldest_retained? = lines.sum { |one| one.part_objects.first } >= OLDEST_LEAST * lines.sum { |one| one.part_objects.last }
    def native? = share(&:native?) >= 0.5
    def share = lines.sum { |line| yield(line) ? line.space : 0.0 } / [space, 1.0].max
  end
end
