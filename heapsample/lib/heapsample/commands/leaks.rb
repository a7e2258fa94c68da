# frozen_string_literal: true

module HeapSample
  module Tool
    module Commands
      class Leaks < ReportCommand
        SUMMARY = "-"
        USAGE = "FILE"
        HELP = ""
      end
    end
  end
end
