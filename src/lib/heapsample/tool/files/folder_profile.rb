# frozen_string_literal: true

module HeapSample
  module Tool
    # Which profile a folder stands for where a command reads one profile: the last profile of the process that the diagnosis
    # of the folder names first.  The name of the file is printed on stderr.
    class FolderProfile
      def initialize(folder)
        @folder = folder
      end

      # call-seq:
      #   path -> String
      #   path { |info| … } -> String
      #
      # With a block: the last of the profiles for whose Meta the block is true.  Where the process has none, another
      # process may have one.
      def path(&wanted)
        # Profiles of other programs have no process: the last file counts.
        found = by_process.empty? ? without_process : profile_of_process(&wanted)
        Message.print("#{found.first}: #{found.last}")
        found.first
      end

      private

      # The Series of the folder; none where no file names its process.
      def by_process
        @by_process ||= begin
          Inputs.expand([@folder])
          Inputs.all_series([@folder]).first
        rescue FormatError
          []
        end
      end

      def without_process
        known = Inputs.readable(Inputs.expand([@folder])) { |path| [path, Meta.new(PprofReader.read_meta(path)).taken || File.mtime(path)] }
        raise Failure, "#{@folder}: no profile in this folder can be read" if known.empty?

        path, = known.max_by.with_index { |(_, time), index| [time, index] }
        [path, known.size == 1 ? "the only profile in #{@folder}" : "the last of #{known.size} profiles in #{@folder}"]
      end

      # Path and description.
      def profile_of_process
        series, index = ([leading] | by_process.reverse).each do |one|
          found = one.infos.rindex { |info| !block_given? || yield(info) }
          break [one, found] if found
        end
        series, index = leading, -1 unless index.is_a?(Integer)
        [series.paths[index], "#{place(series, index)}#{process(series)} in #{@folder}"]
      end

      # The worst process; where nothing is known of any, the one with the most profiles, and the latest of them.
      def leading
        @leading ||= Diagnosis.new(by_process).first.then { |first| first.state == :unknown ? nil : first.series } ||
                     by_process.max_by { |series| [series.size, series.times.last] }
      end

      def place(series, index)
        return "the only profile" if series.size == 1

        last = index == -1 || index == series.size - 1
        last ? "the last of #{series.size} profiles" : "profile #{index + 1} of #{series.size}"
      end

      def process(series)
        return if by_process.size == 1

        info = series.infos.last
        named = "process #{info.process_id || "?"}#{" (#{info.title})" if info.title}"
        " of #{named}, #{series.equal?(leading) ? "first in the diagnosis" : "one"} of #{by_process.size} processes"
      end
    end
  end
end
