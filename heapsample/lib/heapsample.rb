# frozen_string_literal: true

# Reads heap profiles of Ruby and of other programs; see HeapSample for the
# library and README.md for the command-line tool.

require_relative "heapsample/version"
require_relative "heapsample/library"

module HeapSample
  # The command-line tool.
  module Tool
    # What the user gave makes no sense: status 2.
    class UsageError < StandardError
    end

    # It cannot be done: status 1.  The message says what, and of which file.
    class Failure < StandardError
    end

    directory = "#{__dir__}/heapsample"
    autoload :CLI, "#{directory}/cli"
    autoload :Command, "#{directory}/command"
    autoload :Commands, "#{directory}/commands"
    autoload :Filters, "#{directory}/filters"
    autoload :Inputs, "#{directory}/inputs"
    autoload :Merge, "#{directory}/merge"
    autoload :MergedMeta, "#{directory}/merged_meta"
    autoload :MergedStacks, "#{directory}/merge"
    autoload :Message, "#{directory}/message"
    autoload :Nearest, "#{directory}/nearest"
    autoload :NoMatch, "#{directory}/no_match"
    autoload :Output, "#{directory}/output"
    autoload :Progress, "#{directory}/progress"
    autoload :ReportCommand, "#{directory}/report_command"
    autoload :Style, "#{directory}/style"
    autoload :Terminal, "#{directory}/terminal"
    autoload :Values, "#{directory}/values"
  end
end
