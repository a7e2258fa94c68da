# frozen_string_literal: true

require "stringio"

module HeapSample
  # Profiles of one session of one process, in the order of time.
  #
  #   series = HeapSample::Series.load("/var/tmp/profiles")
  #   puts series.diagnosis
  #
  # The header of each file stays in memory (settings, GC counts, the account of the process); rows are read when
  # they are asked for, one profile at a time, and the profiles read last are held, so that a day of profiles a minute
  # takes little more memory than a few of them. The files themselves are held packed, as they are on disk: keep=
  # deletes some while we read.
  class Series
    include Enumerable
    include Viewable

    ENDINGS = %w[.pb.gz .pb].freeze

    # Bytes of files that are held, at most: some two thousand profiles.
    HELD_MOST = 64 << 20
    # More warnings than these are counted.
    WARNINGS_MOST = 5
    # Whole profiles that are held: the last one and the one with a heap walk are read most.
    RECENT_MOST = 2
    private_constant :HELD_MOST, :WARNINGS_MOST, :RECENT_MOST

    # One profile: its HeapSample::Meta and its path, or itself; +held+ is what its file had, if that is held.
    Entry = Struct.new(:info, :path, :profile, :wanted, :held) do
      def filtered(wanted) = Entry.new(info, path, profile, wanted, held)
      def load = (profile || read).then { |whole| wanted ? whole.filter(**wanted) : whole }
      def read = held ? Profile.load(StringIO.new(held), name: path) : Profile.load(path)
      def name = path || "a profile"
      def run = [info.process_start, info.session]
    end

    # HeapSample::Meta of each profile.
    attr_reader :infos
    # What was left out and why, an Array of String.
    attr_reader :warnings

    class << self
      # call-seq:
      #   Series.load(paths) -> series
      #
      # +paths+: a folder, a file, or an Array of them. Where there are several processes or sessions it is the worst,
      # as in a Diagnosis (see Series.all), and a warning names the others; so it does files that are damaged. Raises
      # FormatError if none can be read, SystemCallError if a path is not there.
      def load(paths)
        series, *others = Diagnosis.new(all(paths)).flat_map { |process| [process.series, *(process.members - [process.series])] }
        series.warnings.concat(few(others.map { |other| "left out: #{other.describe}" }))
        series
      end

      # call-seq:
      #   Series.all(paths) -> Array of Series
      #   Series.all(paths, damaged: array) -> Array of Series
      #
      # One for each session of each process, in the order of their starts. Warnings about files that are left out are
      # added to +damaged+, or to the warnings of the first Series. +paths+: as of Series.load; or a Series, or
      # profiles.
      def all(paths, damaged: nil)
        return [paths] if paths.is_a?(Series)

        profiles = Array(paths)
        return [new(profiles)] if profiles.any? && profiles.none? { |one| one.is_a?(String) || one.respond_to?(:to_path) }

        warnings = []
        room = HELD_MOST
        entries = files(paths).filter_map do |path, listed|
          entry(path, listed, room, warnings)&.tap { |entry| room -= entry.held.to_s.bytesize }
        end
        if entries.empty?
          raise FormatError, warnings.first || "#{Array(paths).join(", ")}: no profile (#{ENDINGS.join(", ")}) found"
        end

        damaged&.concat(few(warnings))
        runs(entries).each_with_index.map { |run, index| new(run, warnings: index.zero? && damaged.nil? ? few(warnings) : []) }
      end

      # Paths of what may be profiles in a folder, in the order of their names.
      def in_folder(path) # :nodoc:
        Dir.children(path).sort.filter_map { |name| File.join(path, name) if name.end_with?(*ENDINGS) && !name.start_with?(".") }
      end

      # The first of some warnings, and how many more there are: a folder may have a hundred thousand damaged files.
      def few(warnings) # :nodoc:
        more = warnings.size - WARNINGS_MOST
        more.positive? ? [*warnings.first(WARNINGS_MOST), "#{Layout.grouped(more)} more #{more == 1 ? "file is" : "files are"} left out"] : warnings
      end

      private

      # Path => was it found in a folder?
      def files(paths)
        Array(paths).each_with_object({}) do |path, files|
          path = path.to_s
          next files[path] = false unless File.directory?(path)

          in_folder(path).each { |found| files[found] = true }
        end
      end

      def entry(path, listed, room, warnings)
        held, foreign = ForeignFile.open(path) { |file| [(file.read.to_s if file.size <= room), file.foreign?] }
        source = held ? StringIO.new(held) : path
        # One by another user is read whole: later it would take the answer from the others.
        info = Meta.new(foreign ? PprofReader.read(source, name: path)[:meta] : PprofReader.read_meta(source, name: path))
        return Entry.new(info, path, nil, nil, held) if info.process_start && info.taken

        warnings << "#{Printable.text(path)}: left out: it does not contain its process and time"
        nil
      rescue FormatError => e
        warnings << e.message
        nil
      rescue SystemCallError => e
        raise unless listed

        # What keep= has removed meanwhile is no news.
        warnings << "#{Printable.text(path)}: left out: #{e.class.new.message}" unless e.is_a?(Errno::ENOENT)
        nil
      end

      def runs(entries)
        entries.group_by(&:run).values.sort_by { |run| run.map { |entry| entry.info.started || entry.info.taken }.min }
      end
    end

    # call-seq:
    #   Series.new(profiles) -> series
    #
    # +profiles+: HeapSample::Profile or GC::SampleProfile, in any order. Raises ArgumentError unless they are of one
    # session of one process.
    def initialize(profiles, warnings: [], recent: {}.compare_by_identity)
      entries = profiles.map { |profile| profile.is_a?(Entry) ? profile : Series.held(profile) }
      raise ArgumentError, "a series needs at least one profile" if entries.empty?
      raise ArgumentError, "the profiles must be from one session of one process" unless entries.map(&:run).uniq.size == 1

      @warnings = warnings
      @recent = recent
      same = entries.sort_by { |entry| entry.info.taken }.chunk_while { |one, other| one.info.taken == other.info.taken }
      @entries = same.map(&:first)
      @warnings.concat(Series.few(same.flat_map { |first, *rest| rest.map { |entry| "#{Printable.text(entry.name)}: left out: the same moment as #{Printable.text(first.name)}" } }))
      @infos = @entries.map(&:info)
    end

    def self.held(profile) # :nodoc:
      profile = profile.to_profile if profile.respond_to?(:to_profile)
      raise ArgumentError, "#{profile.class} is not a profile" unless profile.is_a?(Profile)
      unless profile.info.process_start && profile.info.taken
        raise ArgumentError, "a profile does not contain its process and time"
      end

      Entry.new(profile.info, nil, profile)
    end

    # call-seq:
    #   upto(count) -> HeapSample::Series
    #
    # The first +count+ profiles of it.
    def upto(count) = Series.new(@entries.first(count), warnings: @warnings.dup, recent: @recent)

    # call-seq:
    #   filter(**wanted) -> series
    #
    # The same of some rows: the conditions of Profile#filter, but +age+, which would be of each profile's own time.
    def filter(**wanted)
      raise ArgumentError, "a series cannot be filtered by age" if wanted[:age]

      Series.new(@entries.map { |entry| entry.filtered(wanted) }, warnings: @warnings.dup)
    end

    # How many profiles there are.
    def size = @entries.size

    # The path of each profile; nil of one that was given as an object.
    def paths = @entries.map(&:path)

    # call-seq:
    #   series[index] -> HeapSample::Profile
    #
    # The profile at +index+, read from its file unless it is one of those read last.
    def [](index)
      entry = @entries.fetch(index)
      profile = @recent.delete(entry) || entry.load
      @recent.shift while @recent.size >= RECENT_MOST
      @recent[entry] = profile
    end

    # The earliest profile.
    def first = self[0]
    # The latest profile.
    def last = self[-1]

    # call-seq:
    #   walked -> HeapSample::Profile or nil
    #
    # The latest profile with a heap walk (Profile#holders).
    def walked = walks&.last

    # Its heap walks: HeapSample::Walks, or nil.
    def walks = @walks ||= Walks.of(self)

    # Each profile, read one at a time.
    def each
      return to_enum { size } unless block_given?

      @entries.each { |entry| yield entry.load }
      self
    end

    # Time of each profile.
    def times = infos.map(&:taken)

    # Seconds from the first profile to the last.
    def seconds = times.last - times.first

    # HeapSample::Account of each profile; nil where it has none.
    def accounts = infos.map(&:account)

    # call-seq:
    #   diagnosis -> HeapSample::ProcessDiagnosis
    #
    # Does the process leak, where, and how sure is that?
    def diagnosis = ProcessDiagnosis.new(self)

    # call-seq:
    #   line("order.rb:12", kind: :both, top: 20) -> HeapSample::LineHistory
    #
    # One line of code over time.
    def line(line, **options) = LineHistory.new(self, line, **options)

    # "process 4711, 60 profiles, 2026-01-01 00:00 – 01:00 UTC"
    def describe
      session = infos.first.session.to_i
      ["process #{infos.first.process_id || "?"}", *("session #{session}" if session > 1),
       "#{size} profile#{"s" unless size == 1}", span].join(", ")
    end

    def inspect
      "#<#{self.class} #{describe}>"
    end

    def pretty_print(printer) # :nodoc:
      printer.text(inspect)
    end

    # "2026-01-01 00:00:00 – 01:00:00 UTC".
    def span
      from, to = times.minmax.map(&:utc)
      same_day = from.strftime("%F") == to.strftime("%F")
      "#{from.strftime("%F %T")}#{" – #{to.strftime(same_day ? "%T" : "%F %T")}" if size > 1} UTC"
    end
  end
end
