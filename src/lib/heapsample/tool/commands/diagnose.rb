# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # The answer first, of a series; of one profile all that there is to report.  Also what `heapsample FOLDER` is, with no command.
      class Diagnose < ReportCommand
        FORMATS = %w[markdown].freeze
        TAKES = [:format, :by, :kind, :top, :stacks, :seconds, :diagnose, *LAYOUT, :filters].freeze
        SECONDS = 30.0
        TASK = "Find a leak"
        SUMMARY = "report whether each process leaks, at which line, and what retains the memory"
        USAGE = "[options] FILE…|FOLDER|PID…"
        EXAMPLES = <<~TEXT
          heapsample diagnose /var/tmp/heap/         all processes in a folder; short: heapsample /var/tmp/heap/
          heapsample 4711                            a running process
          heapsample 4711 4712 --seconds 120         two running processes, for two minutes
          heapsample heap.pb.gz --by method          a report of one profile
          heapsample /var/tmp/heap/ --format markdown > issue.md
        TEXT
        HELP = <<~TEXT
          `heapsample FOLDER` is short for `heapsample diagnose FOLDER`. The profiles are the ones that the
          setting every=SECONDS writes. The worst process is printed first.

          Whether a process leaks is decided from exact counts: memory that survived major GCs, mappings, threads
          and fibers. Which lines leak is estimated from samples. The verdict is one of `Leak (confirmed)`,
          `Leak (likely)`, `Grows (certain)`, `Ended`, `No leak found` and `Cannot tell`.
          A running process is watched for --seconds; a longer time gives a more certain result.
          For scripts: --fail-on leak exits with status 3 if a process leaks (confirmed or likely).
          A profile lists the major GCs of the process, so a single FILE gets a verdict, too. Below it is the report
          of GC.sample_profile.report: live memory by line and by class, malloc memory, young objects, allocation.
          The options --by, --kind, --top and the filters are for this report.
        TEXT

        def call(arguments)
          paths = expect(arguments, 1.., "profiles")
          return print_about(paths) if options[:about]
          return print_trend(paths) if paths.size > 1 && !options[:snapshot] && paths.all? { |path| Dump.file?(path) }
          return print_report(paths) if options[:snapshot] || (paths.size == 1 && Inputs.one_file?(paths.first))

          print_diagnosis(paths)
        end

        private

        def define_own(parser)
          parser.on("--snapshot", "report one profile: the last of a folder, or of a running process now") { options[:snapshot] = true }
          parser.on("--fail-on VERDICTS", "exit status #{FailOn::STATUS} for these: #{FailOn::WORDS.keys.join(",")} (default: none)") do |words|
            options[:fail_on] = FailOn.new(words.split(",").map { |word| choice("--fail-on", word, FailOn::WORDS.keys) })
          end
          parser.on("--about", "print how each profile was taken: settings, dropped samples, sampler memory") { options[:about] = true }
        end

        def print_diagnosis(paths)
          refuse_options("one profile; add --snapshot, or remove it", :by, :kind, :top, *filters.wanted.keys)
          series, warnings = all_series(paths)
          diagnosis = Progress.show("reading #{series.sum(&:size)} profiles") { HeapSample::Diagnosis.new(series, warnings: warnings).tap(&:kind) }
          print_analysis(diagnosis)
          options[:fail_on]&.status(diagnosis)
        end

        # Of heap dumps, in the order in which they are named.
        def print_trend(paths)
          refuse_options("profiles, not heap dumps; remove it", :seconds, :fail_on, :kind, :stacks, *filters.wanted.keys)
          profiles = paths.map { |path| Inputs.load(path, references: path.equal?(paths.last)) }
          print_analysis(Dump::Trend.new(profiles, **analysis_options(:by, :top)))
        end

        def print_report(paths)
          refuse_options("a diagnosis; name a folder or several profiles, or remove it", :seconds, :fail_on, *(:format unless json?))
          profile = only_profile(paths)
          puts Series.new([profile]).diagnosis.text(**look).lines, "" if verdict_of?(profile)
          print_analysis(HeapSample::Report.new(profile, **analysis_options(:by, :kind, :top)))
        end

        # Does it list major GCs of one process, all of whose rows are asked for?
        def verdict_of?(profile) = !json? && !options[:snapshot] && profile.filtered.nil? && profile.info.majors.any?

        def print_about(paths)
          refuse_options("other reports; remove --about", :by, :kind, :top, :stacks, :seconds, :fail_on, :snapshot, *(:format unless json?), *filters.wanted.keys)
          files = paths.map { |path| Inputs.one(path) }
          found = files.map { |path| Inputs.load(path, **asked).about(name: path) }
          return puts(found.map { |about| about.text(**look).to_s }.join("\n")) unless json?

          puts Printable.json(found.size == 1 ? found.first.to_h : found.map(&:to_h))
        end

        # Raises UsageError if one of the options +names+ was given.
        def refuse_options(what, *names)
          given = names.find { |name| options[name] || filters.wanted[name] }
          raise UsageError, "--#{given.to_s.tr("_", "-")} is for #{what}" if given
        end
      end
    end
  end
end
