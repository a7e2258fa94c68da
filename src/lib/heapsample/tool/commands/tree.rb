# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Who calls what allocates, or what is called.
      class Tree < ReportCommand
        TAKES = [:by, :value, :kind, :top, :min, :diagnose, *LAYOUT, :filters].freeze
        BY = HeapSample::Tree::BY
        TOP = ["NODES", "nodes to print", HeapSample::Tree::ROWS].freeze
        MIN_SHARE = HeapSample::Tree::MIN_SHARE
        TASK = "Read one profile"
        SUMMARY = "show memory as a tree of callers or callees"
        USAGE = "[options] FILE|FOLDER|PID"
        EXAMPLES = <<~TEXT
          heapsample tree heap.pb.gz
          heapsample tree heap.pb.gz --callers --class Seat         callers that allocate seats
          heapsample tree heap.pb.gz --stack Ticket::Cache.store    only stacks with this method
        TEXT
        HELP = <<~TEXT
          The tree starts at the root of the stacks and shows callees. With --callers, the tree starts at the
          line that allocated the memory. A chain without branches is one node. Small nodes are combined.
        TEXT

        def call(arguments)
          print_analysis(HeapSample::Tree.new(only_profile(arguments), **analysis_options(:by, :value, :kind, :top, :direction, :min_share)))
        end

        private

        def define_own(parser)
          parser.on("--callers", "start at the line that allocated the memory") { options[:direction] = :callers }
        end
      end
    end
  end
end
