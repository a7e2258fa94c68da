# frozen_string_literal: true

# The command heapsample: see HeapSample for the library that it shows, and doc/heapsample.md for its use.

require_relative "../heapsample"

module HeapSample
  # The command-line tool.
  module Tool
    # What the user gave makes no sense: status 2.
    class UsageError < StandardError
    end

    # It cannot be done: status 1.  The message names the problem and the file.
    class Failure < StandardError
    end

    # A request that the agent does not answer: the HTTP status, and what to do.
    class AgentRefusal < StandardError
      attr_reader :status

      def initialize(status, message) = super(message).then { @status = status }
    end

    directory = "#{__dir__}/tool"

    # A command (commands/) and what it is made of.
    autoload :CLI, "#{directory}/cli"
    autoload :Command, "#{directory}/command"
    autoload :Commands, "#{directory}/commands"
    autoload :ReportCommand, "#{directory}/report_command"

    # The options and arguments of the command line.
    autoload :FailOn, "#{directory}/options/fail_on"
    autoload :Filters, "#{directory}/options/filters"
    autoload :Nearest, "#{directory}/options/nearest"
    autoload :NoMatch, "#{directory}/options/no_match"
    autoload :Values, "#{directory}/options/values"

    # What is read, and what is written.
    autoload :FolderProfile, "#{directory}/files/folder_profile"
    autoload :Inputs, "#{directory}/files/inputs"
    autoload :Output, "#{directory}/files/output"

    # A running process, look by look.
    autoload :Observing, "#{directory}/watching/observing"
    autoload :Watching, "#{directory}/watching/watching"
    autoload :WatchGrowth, "#{directory}/watching/watch_growth"
    autoload :WatchLines, "#{directory}/watching/watch_lines"
    autoload :WatchLook, "#{directory}/watching/watch_look"
    autoload :WatchScreen, "#{directory}/watching/watch_screen"

    # The server of profiles and metrics.
    autoload :AgentAddress, "#{directory}/agent/agent_door"
    autoload :AgentApp, "#{directory}/agent/agent_app"
    autoload :AgentDeath, "#{directory}/agent/agent_death"
    autoload :AgentDeltas, "#{directory}/agent/agent_deltas"
    autoload :AgentDoor, "#{directory}/agent/agent_door"
    autoload :AgentMetrics, "#{directory}/agent/agent_metrics"
    autoload :AgentProcess, "#{directory}/agent/agent_processes"
    autoload :AgentProcesses, "#{directory}/agent/agent_processes"
    autoload :AgentProfile, "#{directory}/agent/agent_deltas"
    autoload :AgentQueue, "#{directory}/agent/agent_watch"
    autoload :AgentReceiver, "#{directory}/agent/agent_receivers"
    autoload :AgentSender, "#{directory}/agent/agent_sender"
    autoload :AgentSending, "#{directory}/agent/agent_sender"
    autoload :AgentSeries, "#{directory}/agent/agent_store"
    autoload :AgentStore, "#{directory}/agent/agent_store"
    autoload :AgentTake, "#{directory}/agent/agent_watch"
    autoload :AgentWarnings, "#{directory}/agent/agent_warnings"
    autoload :AgentWatch, "#{directory}/agent/agent_watch"

    # Many profiles into one.
    autoload :Merge, "#{directory}/merging/merge"
    autoload :MergedAlive, "#{directory}/merging/merged_alive"
    autoload :MergedHolders, "#{directory}/merging/merged_holders"
    autoload :MergedMeta, "#{directory}/merging/merged_meta"
    autoload :MergedStacks, "#{directory}/merging/merged_stacks"
    autoload :Parts, "#{directory}/merging/parts"

    # What a person sees.
    autoload :Message, "#{directory}/terminal/message"
    autoload :Progress, "#{directory}/terminal/progress"
    autoload :Style, "#{directory}/terminal/style"
    autoload :Terminal, "#{directory}/terminal/terminal"
  end
end
