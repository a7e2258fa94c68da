# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Which references keep what is alive.
      class Why < ReportCommand
        FORMATS = %w[text json markdown folded].freeze
        TAKES = %i[grouping top filters].freeze
        STACKS = false
        SUMMARY = "who keeps what is alive: constants, variables, blocks, threads"
        USAGE = "[options] FILE|FOLDER|PID [-o OUTPUT.html]"
        HELP = <<~TEXT
          The references that keep memory alive, from the root down, for profiles that were taken with a
          walk over the heap: why=N in RUBY_HEAP_SAMPLE, or GC.sample_profile(why: true). Of a folder it
          takes the last such profile. A running process is asked for one now: Ruby code stands still while
          the kernel copies its page tables, then a child of it walks for seconds. Names of code only: never
          what is in a key or a string.

              heapsample why heap.pb.gz
              heapsample why heap.pb.gz --class 'Ticket*' --full
              heapsample why after.pb.gz --grown-since before.pb.gz
              heapsample why heap.pb.gz --stuck
              heapsample why 4711 --full-gc
              heapsample why heap.pb.gz -o why.html          the page, as a graph of references

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

        def asked = {**super, why: true}

        # The page, at "kept by".
        def write_page(paths, why)
          output = output_path(paths, ".html")
          Flame.check_format(output)
          none = %i[format json stuck by full].find { |name| options[name] }
          raise UsageError, "--#{none} is of the text: leave it out with -o" if none

          view = View.new(why.since ? [why.since, why.profile] : why.profile, opens: :kept, **options.slice(:root))
          page = Progress.show("making #{output}") { view.to_s }
          Output.write(output) { |io| io.write(page) }
          tell_written(output)
        end

        def print_stuck(why)
          raise UsageError, "--stuck is of the whole process: leave out filters and --grown-since" if why.profile.filtered || why.since

          json = options[:json] || options[:format] == "json"
          $stdout.write(json ? "#{JSON.pretty_generate(stuck: why.stuck.map(&:to_h))}\n" : why.text.stuck_alone)
          nil
        end

        def print_as(why)
          case options[:format]
          when "markdown" then $stdout.write(why.to_markdown)
          when "folded" then $stdout.write(why.to_folded)
          else
            options[:json] ||= options[:format] == "json"
            print_analysis(why)
          end
          nil
        end

        def define_own(parser)
          define_output(parser, ".html")
          parser.on("--grown-since FILE", "only what came after that earlier profile") { |path| options[:since] = path }
          parser.on("--full", "with arrays, hashes and all steps of long ways") { options[:full] = true }
          parser.on("--stuck", "only threads that can never wake, and where they wait") { options[:stuck] = true }
          parser.on("--format FORMAT", FORMATS.join(", ")) { |format| options[:format] = choice("--format", format, FORMATS) }
        end

        def define_grouping(parser)
          parser.on("--by KIND", "what ends a way: class (usual),", "or #{[*(Groups::BY - [:class]), Groups::LABEL].join(", ")}") do |by|
            options[:by] = grouping("--by", by, Groups::BY)
          end
        end

        def define_top(parser)
          define_nodes(parser, "lines", HeapSample::Why::ROWS, "what is smaller than this share of all is summed up (1)")
        end
      end
    end
  end
end
