# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      # Who calls what allocates, or what is called.
      class Tree < ReportCommand
        SUMMARY = "callers or callees as a tree, collapsed where nothing branches"
        USAGE = "[options] FILE"
        HELP = <<~TEXT
          Memory by stack: from the root down (callees), or from the allocating line up (--callers). A chain
          in which nothing branches is one node; small nodes are summed.

              heapsample tree heap.pb.gz
              heapsample tree heap.pb.gz --callers --class Seat       who makes seats, and for whom
              heapsample tree heap.pb.gz --stack Ticket::Cache.store

        TEXT

        def call(arguments)
          path, = expect(arguments, 1..1, "profile")
          print_analysis(HeapSample::Tree.new(load(path), **analysis_options(:by, :value, :kind, :top, :direction, :min_share)))
        end

        private

        def define_options(parser)
          parser.on("--callers", "from the allocating line up, in place of from the root down") { options[:direction] = :callers }
          define_grouping(parser, %i[line method])
          define_value(parser)
          define_memory(parser)
          parser.on("--top N", Integer, "nodes that are shown (40)") { |count| options[:top] = positive("--top", count) }
          parser.on("--min PERCENT", Float, "nodes of a smaller part of all are not (0.5)") { |share| options[:min_share] = share / 100 }
          define_filters(parser)
          super
        end
      end
    end
  end
end
