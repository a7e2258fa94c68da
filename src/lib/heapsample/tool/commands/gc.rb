# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The GCs of a process.
      class Gc < ReportCommand
        FORMATS = %w[csv].freeze
        TAKES = [:format, :top, *LAYOUT].freeze
        TOP = ["ROWS", "rows in the table of single GCs", HeapSample::GCReport::ROWS].freeze
        TASK = "Look at a running process"
        SUMMARY = "show garbage collections over time: reasons, pauses, CPU time, heap pages"
        USAGE = "[options] PID|FOLDER|FILE"
        EXAMPLES = <<~TEXT
          heapsample gc 4711
          heapsample gc /var/tmp/heap/
          heapsample gc 4711 --format csv > gc.csv        one line a GC; --json prints the same as JSON
          ruby -r heapsample/gc_log app.rb                on a Ruby without the sampler: writes gc-PID-TIME#{GCRecord::ENDING}
        TEXT
        HELP = <<~TEXT
          A process records all of its GCs, in a list of at most 256 entries. The last 64 GCs have an entry each.
          Older GCs share entries, evenly over time; the entry has their sums.
          The reasons count all GCs since the process began.
          In a folder with several processes, the worst process of the diagnosis is used, or the last GC log.
        TEXT

        def call(arguments)
          path = expect(arguments, 1..1, "process, folder or file").first
          print_analysis(HeapSample::GCReport.new(record(path), **analysis_options(:top)))
        end

        private

        def record(path)
          log = log_in(path)
          return Inputs.opened(log) { GCRecord.load(log) } if log

          profile = Inputs.load(Inputs.one(path))
          GCRecord.of(profile.info)&.tap { |record| record.profile = profile } or
            raise Failure, "#{path}: has no record of GCs; a profile of this version has one, and so has a file of heapsample/gc_log"
        end

        # The file of heapsample/gc_log that is meant: itself, or the last one of a folder that has no profile.
        def log_in(path)
          return path if path.end_with?(GCRecord::ENDING)
          return unless File.directory?(path) && Inputs.profiles_in(path).empty?

          Dir.glob(File.join(path, "*#{GCRecord::ENDING}")).max_by { |file| File.mtime(file) }
        end
      end
    end
  end
end
