# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Who calls what allocates, or what is called.
      class Tree < ReportCommand
        TAKES = %i[grouping value memory top filters].freeze
        STACKS = false
        SUMMARY = "callers or callees as a tree, collapsed where nothing branches"
        USAGE = "[options] FILE|FOLDER|PID"
        HELP = <<~TEXT
          Memory by stack: from the root down (callees), or from the allocating line up (--callers). A chain
          in which nothing branches is one node; small nodes are summed.

              heapsample tree heap.pb.gz
              heapsample tree heap.pb.gz --callers --class Seat       who makes seats, and for whom
              heapsample tree heap.pb.gz --stack Ticket::Cache.store

        TEXT

        def call(arguments)
          print_analysis(HeapSample::Tree.new(only_profile(arguments), **analysis_options(:by, :value, :kind, :top, :direction, :min_share)))
        end

        private

        def define_own(parser)
          parser.on("--callers", "from the allocating line up, not from the root down") { options[:direction] = :callers }
        end

        def define_grouping(parser)
          super(parser, HeapSample::Tree::BY)
        end

        def define_top(parser)
          define_nodes(parser, "nodes", 40, "nodes smaller than this share of all are summed up (0.5)")
        end
      end
    end
  end
end
