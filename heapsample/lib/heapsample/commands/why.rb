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
        USAGE = "[options] FILE|FOLDER"
        HELP = <<~TEXT
          The references that keep memory alive, from the root down, for profiles that were taken with a
          walk over the heap: why=N in RUBY_HEAP_SAMPLE, or GC.sample_profile(why: true). Of a folder it
          takes the last such profile. Names of code only: never what is in a key or a string.

              heapsample why heap.pb.gz
              heapsample why heap.pb.gz --class 'Ticket*' --full
              heapsample why after.pb.gz --grown-since before.pb.gz

        TEXT

        def call(arguments)
          path, = expect(arguments, 1..1, "profile")
          profile, since = load([path, *options[:since]]) { |info| info.walk && info.walk.refused.nil? }
          why = HeapSample::Why.new(profile, since: since, **analysis_options(:by, :top, :full, :min_share))
          raise Failure, "#{path}: #{why.reason}" if why.reason

          print_as(why)
        end

        private

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
          parser.on("--grown-since FILE", "only what came after that earlier profile") { |path| options[:since] = path }
          parser.on("--full", "with arrays, hashes and all steps of long ways") { options[:full] = true }
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
