# frozen_string_literal: true

module HeapSample
  # Which lines of code added to the memory that major GCs left alive: by the samples of the first profile of the time that
  # is judged, and of the last one. With one profile alone, by what was allocated in that time and is still there.
  #
  # Where there are few major GCs, the last heap walk counts as one, for it reaches what a major GC leaves alive.
  class GrowingLines
    # Lines that are kept.
    MOST = 50
    # A line has such a part of all growth, at least.
    PART_LEAST = 0.01
    # The code that allocates the VM's list of heap pages: it grows with everything else.
    PAGE_LIST = /\Aheap_page_allocate/
    # A frame in which a file is loaded has one of these labels.
    LOADED = /\A<(?:top \(required\)|class:|module:)/
    # What loads a file once and never again.
    ONCE = /\AKernel#require(?:_relative)?\z/
    # Of code that was loaded at once, such a part was allocated in one part of the time.
    AT_ONCE = 0.7
    # Where there are few major GCs: the part of the time in which a program starts, and over which growth is judged, at least.
    TIME_LEAST = 0.25

    # LineGrowths, the largest first.
    attr_reader :lines
    # Seconds over which they grew, of the process that was looked at for the longest time.
    attr_reader :seconds

    # +members+: an Array of Series, of processes that run the same code; +from+: a Time from which on growth is judged.
    # +few+: there are too few major GCs for a verdict; growth is judged from one that is early enough.
    def initialize(members, from:, few: false)
      @from = from
      @all = {}
      @seconds = 0.0
      members.each { |series| few ? read_few(series) : read(series) }
      @lines = chosen
    end

    # So many bytes, an hour.
    def per_hour(bytes) = bytes * 3600 / [seconds, 1e-3].max

    private

    def read(series)
      last = last_of(series)
      first = series.infos.index { |info| info.taken >= @from }
      first = nil if first && first >= last
      from, to = bounds(series.infos, first, last)
      return unless from

      @seconds = [@seconds, to.time - from.time].max.to_f
      early = series[first] if first
      later = series[last]
      compare(early, later, from.gc, to.gc)
      holders(series, from.gc)
    end

    # What was allocated for a while, and was alive at the last major GC, or at a heap walk after it; less what was older, and
    # was freed after the first major GC of that time. Else what is replaced again and again would count as growth.
    def read_few(series)
      later = series[last_of(series)]
      to = later.info.majors.reverse.find { |major| major.gc <= later.info.last_major_gc.to_i }
      walked = series.walks&.last
      walked = nil if walked && to && walked.info.taken < to.time
      later, end_gc, time = walked ? [walked, walked.info.gc_count, walked.info.taken] : [later, to&.gc, to&.time]
      from_gc, from_time = (start(later.info, end_gc, time) if time)
      return unless from_gc

      @seconds = [@seconds, time - from_time].max.to_f
      early = series.infos.index { |info| info.last_major_gc.to_i >= from_gc && info.taken < later.info.taken }&.then { |index| series[index] }
      compare(early, later, from_gc, end_gc, reached: (reached(walked) if walked))
      holders(series, from_gc)
    end

    # What was allocated between two GCs and is live in the later profile, less what was freed since the early one (nil: freed memory
    # is not known). +reached+: the rows that count; nil: all.
    def compare(early, later, from_gc, to_gc, reached: nil)
      early&.then { |profile| each(profile) { |line, row, allocation_gc| line.was_there(row) if allocation_gc < from_gc } }
      part = parts(later.info, from_gc, to_gc)
      each(later) do |line, row, allocation_gc|
        next (line.is_still_there(row) if early) if allocation_gc < from_gc

        line.came(later, row, part.call(allocation_gc)) if allocation_gc < to_gc && (reached.nil? || reached[row])
      end
    end

    # The GC from which on allocations are looked at, and when it began: the first one after the start of the program. nil if there
    # is none.
    def start(info, end_gc, time)
      begun = (info.gc_times || info.majors).map { |one| [one.gc, one.time] }.sort
      return if begun.empty?

      first = begun.first.last
      least = TIME_LEAST * (time - first)
      begun = begun.select { |gc, at| gc < end_gc && at <= time - least }
      begun.find { |_, at| at >= first + least } || begun.last
    end

    # The index of the last profile. The one at exit does not count: the program has begun to close down.
    def last_of(series) = series.infos.rindex { |info| info.reason != "exit" } || (series.size - 1)

    # The rows that a walk reached for the most part.
    def reached(profile)
      rows = Hash.new(0.0).compare_by_identity
      profile.holders.each { |held| rows[held.row] += Roots.silent?(profile.holders.path(held.node).first.name) ? -held.space : held.space }
      rows.select { |_, space| space.positive? }
    end

    # Two major GCs: memory allocated between them that is live counts as growth.
    def bounds(infos, first, last)
      majors = infos[last].majors
      to = majors.reverse.find { |major| major.gc <= infos[last].last_major_gc.to_i }
      from = first ? majors.reverse.find { |major| major.gc <= infos[first].last_major_gc.to_i } : majors.find { |major| major.time >= @from }
      from ||= majors.first
      [from, to] if from && to && from.gc < to.gc
    end

    # Makes of a GC count how much of what was allocated at that count belongs to each part of the time between two GCs. It is not
    # known when between two GCs an object was allocated: it counts for all parts in between.
    def parts(info, from, to)
      times = info.gc_times
      began, ended = [from, to].map { |gc| times&.allocated_at(gc)&.first&.to_f }
      timed = began && ended && ended > began
      shares = Hash.new do |known, allocation_gc|
        first, last = timed ? times.allocated_at(allocation_gc).compact.map { |time| (time.to_f - began) / (ended - began) }.minmax : [(allocation_gc - from) / (to - from).to_f] * 2
        known[allocation_gc] = shares_between(first * LineGrowth::PARTS, last * LineGrowth::PARTS)
      end
      shares.method(:[])
    end

    def shares_between(first, last)
      return Array.new(LineGrowth::PARTS) { |part| part == first.floor.clamp(0, LineGrowth::PARTS - 1) ? 1.0 : 0.0 } if last - first < 1

      Array.new(LineGrowth::PARTS) { |part| ([last, part + 1].min - [first, part].max).clamp(0, 1) / (last - first) }
    end

    # Yields the LineGrowth of each live row, the row, and its GC count.
    def each(profile)
      keys = Keys.new(profile, :line)
      profile.table.each do |row|
        allocation_gc = row[Columns::ALLOCATION_GC]
        next unless allocation_gc && row[Columns::INUSE_OBJECTS].positive?

        place = keys.of(row)
        yield @all[place] ||= LineGrowth.new(place), row, allocation_gc
      end
    end

    # Gives lines what retains them, as the last walk found it.
    def holders(series, from_gc)
      walks = series.walks or return
      holders = LineHolders.new(walks, from_gc)
      @all.each_value { |line| holders.add_to(line) if line.probable? && line.holder.nil? && line.partly.nil? }
    end

    def chosen
      grown = @all.values.select { |line| line.probable? && line.stays? && (line.function || !Keys.machinery?(line.place)) && !page_list?(line) && !loaded?(line) && !line.table_only? }
      grown = grown.select(&:certain?).then { |certain| certain.any? ? certain : grown }
      grown = grown.reject(&:replaces?).then { |others| others.any? ? others : grown }
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
