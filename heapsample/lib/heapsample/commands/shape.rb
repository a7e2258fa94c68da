# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      class Shape < ReportCommand
        SUMMARY = "-"
        USAGE = "FILE"
        HELP = ""
      end
    end
  end
end
