# frozen_string_literal: true

module HeapSample
  # Which lines of code added to the memory that major GCs left alive: by the samples of the first profile of the time that
  # is judged, and of the last one. With one profile alone, by what was allocated in that time and is still there.
  class GrowingLines
    # Lines that are kept.
    MOST = 50
    # A line has such a part of all growth, at least.
    PART_LEAST = 0.01
    # What asks for the VM's list of heap pages: it grows with whatever else grows.
    PAGE_LIST = /\Aheap_page_allocate/
    # A frame in which a file is loaded has one of these labels.
    LOADED = /\A<(?:top \(required\)|class:|module:)/
    # What loads a file once and never again.
    ONCE = /\AKernel#require(?:_relative)?\z/
    # Of code that was loaded at once, such a part was allocated in one part of the time.
    AT_ONCE = 0.7

    # LineGrowths, the largest first.
    attr_reader :lines
    # Seconds over which they grew, of the process that was looked at for the longest time.
    attr_reader :seconds

    # +members+: an Array of Series, of processes that run the same code; +from+: a Time from which on growth is judged.
    def initialize(members, from:)
      @from = from
      @all = {}
      @seconds = 0.0
      members.each { |series| read(series) }
      @lines = chosen
    end

    # So many bytes, an hour.
    def per_hour(bytes) = bytes * 3600 / [seconds, 1e-3].max

    private

    def read(series)
      last = series.infos.rindex { |info| info.reason != "exit" } || (series.size - 1)
      first = series.infos.index { |info| info.taken >= @from }
      first = nil if first && first >= last
      from, to = bounds(series.infos, first, last)
      return unless from

      @seconds = [@seconds, to.time - from.time].max.to_f
      early = series[first] if first
      later = series[last]
      early&.then { |profile| each(profile) { |line, row, birth| line.was_there(row) if birth < from.gc } }
      each(later) do |line, row, birth|
        next (line.is_still_there(row) if early) if birth < from.gc

        line.came(later, row, part(birth, from.gc, to.gc)) if birth < to.gc
      end
      holders(series, from)
    end

    # Two major GCs: what was allocated between them, and is there, came.
    def bounds(infos, first, last)
      majors = infos[last].majors
      to = majors.reverse.find { |major| major.gc <= infos[last].last_major_gc.to_i }
      from = first ? majors.reverse.find { |major| major.gc <= infos[first].last_major_gc.to_i } : majors.find { |major| major.time >= @from }
      from ||= majors.first
      [from, to] if from && to && from.gc < to.gc
    end

    def part(birth, from, to) = ((birth - from) * LineGrowth::PARTS / (to - from)).clamp(0, LineGrowth::PARTS - 1)

    # Yields the LineGrowth of each row that is in use, the row, and its GC count.
    def each(profile)
      keys = Keys.new(profile, :line)
      profile.table.each do |row|
        birth = row[Columns::BIRTH_GC]
        next unless birth && row[Columns::INUSE_OBJECTS].positive?

        place = keys.of(row)
        yield @all[place] ||= LineGrowth.new(place), row, birth
      end
    end

    # Gives lines what retains them, as the last walk found it.
    def holders(series, from)
      walks = series.walks or return
      holders = LineHolders.new(walks, from.gc)
      @all.each_value { |line| holders.add_to(line) if line.certain? && line.holder.nil? && line.partly.nil? }
    end

    def chosen
      grown = @all.values.select { |line| line.certain? && line.stays? && (line.function || !Keys.machinery?(line.place)) && !page_list?(line) && !loaded?(line) && !line.table_only? }
      least = PART_LEAST * grown.sum(&:space)
      grown.select { |line| line.space >= least }.sort_by { |line| -line.space }.first(MOST)
    end

    def page_list?(line) = line.stack.take_while(&:native?).any? { |frame| PAGE_LIST.match?(frame.label) }

    # Is it code that was loaded, once?
    def loaded?(line)
      line.stack.each do |frame|
        return at_once?(line) if LOADED.match?(frame.label)
        return true if ONCE.match?(frame.qualified_label)
        return false if line.app_line && frame.full_path == line.app_line.path && frame.lineno == line.app_line.line
      end
      false
    end

    def at_once?(line) = line.parts.max > AT_ONCE * line.parts.sum
  end
end
