# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Which references keep what is alive.
      class Why < ReportCommand
        FORMATS = %w[text json markdown folded].freeze
        TAKES = %i[grouping top filters].freeze
        STACKS = false
        SUMMARY = "show what retains memory: constants, variables, blocks, threads"
        USAGE = "[options] FILE|FOLDER|PID [-o OUTPUT.html]"
        EXAMPLES = <<~TEXT
          heapsample why 4711                                      a running process
          heapsample why heap.pb.gz --class 'Ticket*' --full       what retains tickets, every step
          heapsample why after.pb.gz --grown-since before.pb.gz    only memory allocated in between
          heapsample why heap.pb.gz --stuck                        permanently blocked threads
          heapsample why heap.pb.gz -o why.html                    a page with the graph of references
        TEXT
        HELP = <<~TEXT
          Prints the references that retain memory, from the root down. Only profiles with a heap walk
          contain references: profiles that the settings every=SECONDS and diagnose=SHARE write, and the
          profiles of GC.sample_profile(why: true). For a folder, the last such profile is used.

          In a running process, the command starts a heap walk. Ruby code pauses while the process forks.
          The child process then walks the heap for some seconds. If GCs and walks have already used up
          the share of the run time (--diagnose), the command waits, or says when to try again.
          The result contains names from the code, and never the contents of keys or strings.
        TEXT

        def call(arguments)
          path, = expect(arguments, 1..1, "profile")
          profile, since = load([path, *options[:since]]) { |info| info.walk && info.walk.refused.nil? }
          why = HeapSample::Why.new(profile, since: since, **analysis_options(:by, :top, :full, :min_share))
          raise Failure, "#{path}: #{why.reason}" if why.reason

          return write_page(arguments, why) if options[:output]

          options[:stuck] ? print_stuck(why) : print_as(why)
        end

        private

        # Without a share there is no walk.
        def asked = {**super, why: super[:diagnose] != "off"}

        # The page, at "kept by".
        def write_page(paths, why)
          output = output_path(paths, ".html")
          Flame.check_format(output)
          none = %i[format json stuck by full].find { |name| options[name] }
          raise UsageError, "--#{none} cannot be combined with -o; remove one of them" if none

          view = View.new(why.since ? [why.since, why.profile] : why.profile, opens: :kept, **options.slice(:root))
          page = Progress.show("making #{output}") { view.to_s }
          Output.write(output) { |io| io.write(page) }
          tell_written(output)
        end

        def print_stuck(why)
          raise UsageError, "--stuck covers the whole process; remove filters and --grown-since" if why.profile.filtered || why.since

          json = options[:json] || options[:format] == "json"
          $stdout.write(json ? "#{Printable.json({stuck: why.stuck.map(&:to_h)})}\n" : why.text(**look).stuck_alone)
          nil
        end

        def print_as(why)
          case options[:format]
          when "markdown" then $stdout.write(why.text(**look).to_markdown)
          when "folded" then $stdout.write(why.text(**look).to_folded)
          else
            options[:json] ||= options[:format] == "json"
            print_analysis(why)
          end
          nil
        end

        def define_own(parser)
          define_output(parser, ".html", default: "default: print text")
          parser.on("--grown-since FILE", "only memory allocated after this earlier profile (default: all)") { |path| options[:since] = path }
          parser.on("--full", "print arrays, hashes and every step of long chains") { options[:full] = true }
          parser.on("--stuck", "print only permanently blocked threads, and where they wait") { options[:stuck] = true }
          parser.on("--format FORMAT", "output format: #{FORMATS.join(", ")} (default: text)") { |format| options[:format] = choice("--format", format, FORMATS) }
        end

        def define_grouping(parser)
          parser.on("--by KIND", "group by #{Groups::BY.join(", ")}", "or #{Groups::LABEL}; app: nearest line of the application (default: class)") do |by|
            options[:by] = grouping("--by", by, Groups::BY)
          end
        end

        def define_top(parser)
          define_nodes(parser, "lines", HeapSample::Why::ROWS, HeapSample::Why::MIN_SHARE)
        end
      end
    end
  end
end
