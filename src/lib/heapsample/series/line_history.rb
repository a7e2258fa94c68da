# frozen_string_literal: true

module HeapSample
  # One line of code over time: its live memory at each profile of a series, and what was allocated and freed there.
  #
  #   puts series.line("order.rb:12")
  #
  # It is what the line made itself and, of the application's lines, what gems and Ruby made that it called: the rows by
  # :line and by :app that are of that line.
  class LineHistory
    include Analysis

    # A line that is not there, or is in several files.
    class NotFound < ArgumentError
      # Texts of what is there: "a/order.rb:12".
      attr_reader :places

      def initialize(message, places)
        super(message)
        @places = places
      end
    end

    # What the line had at one profile: its Time and GC count, and a Group of its rows.
    Moment = Struct.new(:time, :gc, :group) do
      # Estimates: live; allocated and freed since sampling started.
      def inuse = group.inuse
      def allocated = group.alloc
      def freed = group.freed
    end

    LINE = /\A(.+):(\d+)\z/m
    # Lines that an error names.
    NAMED = 3
    ROWS = 20
    TEXT = LineHistoryText

    # The series; the kind of memory; the most moments that a text shows.
    attr_reader :series, :kind, :rows
    # The line: a Place; a Moment for each profile; what changed from the first to the last, a GrowthGroup.
    attr_reader :place, :moments, :growth

    # call-seq:
    #   LineHistory.new(series, "models/order.rb:12", kind: :both, top: 20)
    #
    # The path may lack folders in front.  Raises NotFound if no profile has such a line, or there are several; ArgumentError
    # if an argument makes no sense.
    def initialize(series, line, kind: :both, top: ROWS)
      Layout.check(top: top)
      @series = series
      @kind = kind
      @rows = top
      @wanted = Groups.wanted(kind)
      @file, @number = line.to_s.match(LINE)&.captures
      raise ArgumentError, "a line must be FILE:LINE, such as order.rb:12, not #{line.inspect}" unless @file

      @path = %r{(?:\A|/)#{Regexp.escape(@file.delete_prefix("./"))}\z}
      read
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h
      {process_id: series.infos.first.process_id, **Analysis.key(place, layout), kind: kind, warnings: series.warnings,
       profiles: moments.map { |moment| moment_to_h(moment) }, growth: growth.to_h, still_live_share: still}
    end

    # The part of the memory allocated there since sampling started that is not freed; nil if it is not known.
    def still = moments.last.group.freed_share&.then { |freed| 1 - freed }

    private

    def moment_to_h(moment)
      {time: moment.time.utc.strftime("%FT%TZ"), gc: moment.gc, inuse: moment.inuse.to_h, allocated: moment.allocated.to_h, freed: moment.freed.to_h}
    end

    def read
      found = Hash.new { |known, place| known[place] = {} }
      ends = {}
      series.each_with_index do |profile, index|
        rows_by_place(profile).each { |place, rows| found[place][index] = group(profile, rows) }
        ends[index] = profile if [0, series.size - 1].include?(index)
      end
      @place = only(found.keys, ends.values.last)
      @moments = series.infos.each_with_index.map { |info, index| Moment.new(info.taken, info.gc_count, found[@place][index] || Group.new(@place)) }
      @growth = grown(ends[0], ends[series.size - 1])
    end

    # Place without a label => rows.
    def rows_by_place(profile)
      places = Hash.new { |known, handle| known[handle] = places_of(profile.stacks, handle) }
      profile.table.each_with_object({}) do |row, found|
        next unless @wanted.nil? || row[Columns::MALLOC] == @wanted

        places[row[Columns::STACK]].each { |place| (found[place] ||= []) << row }
      end
    end

    def places_of(stacks, handle)
      [stacks.site(handle), stacks.application_site(handle)].compact.uniq.filter_map do |id|
        frame = stacks.frame(id)
        Place.new(frame.full_path, frame.lineno) if frame.lineno == @number.to_i && @path.match?(frame.full_path)
      end.uniq
    end

    def group(profile, rows)
      info = profile.info
      rows.each_with_object(Group.new(nil, major_gc: info.last_major_gc)) { |row, group| group.add(row) }
    end

    def grown(first, last)
      total = GrowthGroup.new(place)
      return total if series.size < 2

      parts = [last, first].map { |profile| profile.with(rows_by_place(profile).fetch(place, [])) }
      (parts[0] - parts[1]).rows.each_with_object(total) { |row, sum| sum.add(row) }
    end

    def only(places, last)
      return places.first if places.size == 1
      raise not_there(last) if places.empty?

      names = names(places.sort_by(&:path))
      raise NotFound.new("#{@file}:#{@number} matches several files: #{names.join(", ")}; give more of the path", names)
    end

    # Names the nearest lines of the file, else the largest lines.
    def not_there(last)
      all = last.groups(:line, kind: kind).ranked(last.table.size) { |group| group.inuse.space + group.alloc.space }.map(&:key)
      all = all.reject { |key| key.path.empty? }.map { |key| Place.new(key.path, key.line) }.uniq
      same = all.select { |key| @path.match?(key.path) }
      near = same.empty? ? all : same.sort_by { |key| (key.line - @number.to_i).abs }
      NotFound.new("no memory was allocated at #{@file}:#{@number}; #{same.empty? ? "the largest lines are" : "the nearest lines are"} " \
                   "#{names(near.first(NAMED)).join(", ")}", names(all))
    end

    def names(places) = places.map { |place| layout.place(place) }
  end
end
