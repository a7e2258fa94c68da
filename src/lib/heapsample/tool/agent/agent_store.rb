# frozen_string_literal: true

require "fileutils"
require "time"

module HeapSample
  module Tool
    # Keeps profiles on disk: in a folder for each process, PID-START, with fewer profiles of older times. Of a process that ended
    # unexpectedly the last profile stays as died-TIME.pb.gz, with the cause and the diagnosis in died-TIME.txt.
    class AgentStore < AgentQueue
      # Age in seconds => one profile is kept of so many seconds (0: all).
      STEPS = {300 => 0, 3600 => 60, 86_400 => 600, Float::INFINITY => 3600}.freeze
      # How many files there may be; bytes that a file, or a folder, takes at least.
      FILES_MOST, BLOCK = 20_000, 4096
      FOLDER = /\A[1-9]\d{0,9}-\d{1,20}\z/
      # walk: a profile with a heap walk.
      NAME = /\A(?<kind>heap|walk|died)-(?<time>\d{8}T\d{6}\.\d{3})\.pb\.gz\z/
      TIME = "%Y%m%dT%H%M%S.%L"
      TEMPORARY = /\A\.heapsample-.*\.tmp\z/

      # A file: +stamp+ is the time in its name, +time+ the same in seconds; +bytes+ are what it takes on disk.
      Kept = Struct.new(:kind, :stamp, :bytes) do
        def name = "#{kind}-#{stamp}.pb.gz"
        def died? = kind == "died"
        def time = @time ||= Time.strptime("#{stamp}Z", "#{TIME}%z").to_r
      end

      # call-seq:
      #   AgentStore.thinned(list, now) -> Array of Kept
      #
      # The profiles to keep of a process: the first of each step, the last, the profile of an unexpected end, and the first and the last heap walk.
      def self.thinned(list, now)
        walks = list.select { |kept| kept.kind == "walk" }.values_at(0, -1)
        before = nil
        list.select do |kept|
          step = STEPS.find { |age, _| now - kept.time <= age }.last
          same = before && step.positive? && before.time.div(step) == kept.time.div(step)
          before = kept if !same || kept.equal?(list.last) || kept.died? || walks.any? { |walk| walk.equal?(kept) }
        end
      end

      # +most+: bytes of all files; +clock+: gives the time. Raises Failure.
      def initialize(folder, most, clock: -> { Time.now })
        super()
        @folder, @most, @clock = folder, most, clock
        open_folder
        @folders = Dir.children(folder).grep(FOLDER).to_h { |name| [name, files(name)] }.reject { |_, list| list.empty? }
        shrink
      end

      private

      def open_folder
        Dir.mkdir(@folder, 0o700) unless File.exist?(@folder) || File.symlink?(@folder)
        stat = File.lstat(@folder)
        raise Failure, "#{@folder}: it is not a folder, but a link or a file; name a folder of yours with --keep" unless stat.directory?
        raise Failure, "#{@folder}: other users may write to this folder; name a folder of yours with --keep" unless stat.owned? && stat.mode.nobits?(0o022)

        @lock_file = File.open(File.join(@folder, ".lock"), File::RDWR | File::CREAT | File::NOFOLLOW, 0o600)
        @lock_file.flock(File::LOCK_EX | File::LOCK_NB) or raise Failure, "#{@folder}: another agent keeps profiles here; name another folder with --keep"
      rescue SystemCallError => e
        raise Failure, "#{@folder}: #{Inputs.reason(e)}; name a folder of yours with --keep"
      end

      def path(*names) = File.join(@folder, *names)

      # What an earlier agent has kept of a process; what it did not complete is removed.
      def files(name)
        return [] unless File.lstat(path(name)).then { |stat| stat.directory? && stat.owned? }

        Dir.children(path(name)).filter_map do |file|
          File.unlink(path(name, file)) if TEMPORARY.match?(file)
          match = NAME.match(file) or next
          Kept.new(match[:kind], match[:time], disk(File.size(path(name, file)))).tap(&:time)
        rescue ArgumentError, SystemCallError
          nil
        end.sort_by(&:time)
      end

      def disk(bytes) = [(bytes + BLOCK - 1) / BLOCK, 1].max * BLOCK

      def take(take)
        folder, walk = folder(take), take.info.walk
        saving do
          Dir.mkdir(path(folder), 0o700) unless File.directory?(path(folder))
          kept = Kept.new(walk && walk.refused.nil? ? "walk" : "heap", stamp(take), disk(take.bytes.bytesize))
          AtomicFile.write(path(folder, kept.name), take.bytes)
          list = (@folders[folder] ||= []).push(kept)
          (list - AgentStore.thinned(list, @clock.call.to_r)).each { |one| drop(folder, one) }
          shrink
        end
      end

      # One line when the disk fails, and none until it works again.
      def saving
        yield
        @failed = false
      rescue SystemCallError => e
        Message.print("profiles cannot be kept in #{@folder}: #{Inputs.reason(e)}") unless @failed
        @failed = true
      end

      def folder(take) = take.key.join("-")
      def stamp(take) = take.taken.utc.strftime(TIME)
      def find(take) = @folders[folder(take)]&.find { |kept| kept.stamp == stamp(take) }

      # Nothing is printed after a normal end.
      def took_end(take, cause)
        return unless cause

        take(take) unless find(take)
        folder, kept = folder(take), find(take) || return
        saving do
          File.rename(path(folder, kept.name), path(folder, "died-#{kept.stamp}.pb.gz"))
          kept.kind = "died"
          kept.bytes += disk(AtomicFile.write(path(folder, "died-#{kept.stamp}.txt"), "#{account(take)}\n\n#{diagnosis(folder, take)}\n"))
          shrink
        end
      end

      def account(take)
        process, limit, layout = take.process, take.info.account&.limit, Layout.new
        age = layout.duration([@clock.call - take.taken, 0].max)
        ["Process #{process.pid}#{" (#{Printable.text(process.title)})" if process.title} ended unexpectedly: #{process.death.sentence}.",
         "The last profile was taken at #{take.taken.utc.strftime("%F %T")} UTC, #{age} before the end was noticed. RSS was #{layout.bytes(take.rss)} then.",
         *("Of the memory limit, #{layout.bytes(limit.bytes)}, #{layout.bytes(limit.used)} were used." if limit)].join("\n")
      end

      # Of the profiles of its last program: exec(2) begins another.
      def diagnosis(folder, take)
        entries = @folders[folder].filter_map do |kept|
          file = path(folder, kept.name)
          info = Meta.new(PprofReader.read_head(File.binread(file, PprofReader::HEAD_MOST), name: file))
          AgentSeries::Entry.new(info, file) if info.same_run?(take.info) && info.taken
        rescue FormatError, SystemCallError
          nil
        end
        Diagnosis.new([AgentSeries.new(entries)]).to_s
      rescue StandardError => e
        "There is no diagnosis: #{Printable.text(e.message)}"
      end

      # Removes the oldest profiles of the processes that have most, until the limit is met; profiles of processes that ended unexpectedly go last.
      def shrink
        while over?
          deaths = @folders.each_value.all? { |list| list.all?(&:died?) }
          folder, list = @folders.max_by { |_, all| all.sum { |kept| kept.died? == deaths ? kept.bytes : 0 } }
          drop(folder, list.find { |kept| kept.died? == deaths })
        end
      end

      def over? = @folders.any? && (@folders.sum { |_, list| BLOCK + list.sum(&:bytes) } > @most || @folders.sum { |_, list| list.size } > FILES_MOST)

      def drop(folder, kept)
        list = @folders[folder]
        list.delete_if { |one| one.equal?(kept) }
        @folders.delete(folder) if list.empty?
        FileUtils.rm_f([kept.name, *("died-#{kept.stamp}.txt" if kept.died?)].map { |name| path(folder, name) })
        Dir.rmdir(path(folder)) if list.empty?
      rescue Errno::ENOTEMPTY
        nil           # a file of another program
      end
    end

    # A Series in which some profiles have only their Meta: in place of their rows it reads the rows of the last profile.
    class AgentSeries < Series
      # Bytes of a profile when unpacked.
      DECODED_MOST = 64 << 20

      Entry = Class.new(Series::Entry) do
        def read = Profile.load(held ? StringIO.new(held) : path, name: name, limit: DECODED_MOST)
      end

      # The Meta without what takes much room: the last profile has the same of the whole life.
      def self.slim(info)
        values = info.values
        Meta.new({**values.slice("process_id", "process_start", "session", "started_ns", "taken_ns", "objects", "reason", "forced", "account"),
                  "gc" => values["gc"]&.slice("count", "last_major_gc"), "alive" => values["alive"]&.transform_values { |kind| kind&.slice("count") }})
      end

      def [](index) = super(@entries[index].then { |entry| entry.held || entry.path ? index : -1 })
    end
  end
end
