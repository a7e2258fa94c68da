# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Which references keep what is alive.
      class Why < ReportCommand
        TAKES = [:format, :by, :top, :min, :diagnose, *LAYOUT, :filters].freeze
        FORMATS = %w[markdown folded].freeze
        ENDINGS = PAGE_ENDINGS
        BY_USUAL = "class"
        TOP = ["LINES", "lines to print", HeapSample::Why::ROWS].freeze
        MIN_SHARE = HeapSample::Why::MIN_SHARE
        TASK = "Find a leak"
        SUMMARY = "show what retains memory: constants, variables, blocks, threads"
        USAGE = "[options] FILE|FOLDER|PID [-o OUTPUT.html]"
        EXAMPLES = <<~TEXT
          heapsample why 4711                                      a running process
          heapsample why heap.pb.gz --class 'Ticket*' --full       what retains tickets, every step
          heapsample why after.pb.gz --grown-since before.pb.gz    only memory allocated in between
          heapsample why heap.pb.gz -o why.html                    a page with the graph of references
        TEXT
        HELP = <<~TEXT
          Prints the references that retain memory, from the root down. Only profiles with a heap walk
          contain references: profiles that the settings every=SECONDS and diagnose=SHARE write, and the
          profiles of GC.sample_profile(why: true). For a folder, the last such profile of the
          worst process in the diagnosis is used.

          In a running process, the command starts a heap walk. Ruby code pauses while the process forks.
          The child process then walks the heap for some seconds. If GCs and walks have already used up
          the share of the run time (--diagnose), the command waits, or says when to try again.
          Threads and fibers that are blocked permanently are printed below, with the place where they wait.
          The result contains names from the code, and never the contents of keys or strings.
        TEXT

        def call(arguments)
          path, = expect(arguments, 1..1, "profile")
          profile, since = load([path, *options[:since]]) { |info| info.walk && info.walk.refused.nil? }
          why = HeapSample::Why.new(profile, since: since, **analysis_options(:by, :top, :full, :min_share))
          raise Failure, "#{path}: #{why.reason}" if why.reason

          options[:output] ? write_graph(arguments, why) : print_analysis(why)
        end

        private

        # Without a share there is no walk.
        def asked = {**super, why: super[:diagnose] != "off"}

        # The page, which opens with "Retained by".
        def write_graph(paths, why)
          output = page_path(paths)
          none = %i[format by full].find { |name| options[name] }
          raise UsageError, "--#{json? && none == :format ? "json" : none} cannot be combined with -o; remove one of them" if none

          write_page(View.new(why.since ? [why.since, why.profile] : why.profile, opens: :kept, **options.slice(:root)), output)
        end

        def define_own(parser)
          define_output(parser, default: "default: print text")
          parser.on("--grown-since FILE", "only memory allocated after this earlier profile (default: all)") { |path| options[:since] = path }
          parser.on("--full", "print arrays, hashes and every step of long chains") { options[:full] = true }
        end
      end
    end
  end
end
