# frozen_string_literal: true

# Every profiler in one shape: start it, stop it, and ask whether it found the planted line.
# `found` says in words what it found, and is nil or false where that is wrong.
require_relative "agent"

PLANTED = "Workload.plant"
PLANTED_FILE = File.join(__dir__, "workload.rb")

# Before the file is read: only then are its lines counted.
class LineCoverage
  def self.start
    require "coverage"
    Coverage.setup(lines: true, branches: true, methods: true, eval: true)
    Coverage.resume
  end

  def self.stop = @result = Coverage.result
  def self.found(_, count) = @result.dig(PLANTED_FILE, :lines, Workload::PLANT_LINE - 1).then { |times| times == count + Workload::PORTIONS && "#{times} times" }
end

class OneshotCoverage
  def self.start
    require "coverage"
    Coverage.start(oneshot_lines: true)
  end

  def self.stop = @result = Coverage.result
  def self.found(*) = @result[PLANTED_FILE][:oneshot_lines].include?(Workload::PLANT_LINE) && "once"
end

# Ruby's own hooks of calls, returns and exceptions. Allocation hooks (newobj, freeobj) are the next ones'.
class Traces
  def self.start
    @seen = Hash.new(0)
    @trace = TracePoint.new(:call, :return, :c_call, :b_call, :raise) do |point|
      @seen[point.event] += 1 if point.event == :raise || (point.path == PLANTED_FILE && point.method_id == :initialize)
    end
    @trace.enable
  end

  def self.stop = @trace.disable
  def self.found(_, count) = @seen.values_at(:call, :return) == [count, count] && @seen[:raise] >= 200 && @seen.inspect
end

class AllocationTraces
  def self.start
    require "objspace"
    ObjectSpace.trace_object_allocations_start
  end

  def self.stop = ObjectSpace.trace_object_allocations_stop

  def self.found(kept, _)
    lines = kept.map { |object| ObjectSpace.allocation_sourceline(object) }.tally
    lines == { Workload::PLANT_LINE => kept.size } && lines.inspect
  end
end

class MemoryProfilers
  def self.start
    require "memory_profiler"
    MemoryProfiler.start
  end

  def self.stop = @report = MemoryProfiler.stop

  def self.found(kept, _)
    line = @report.retained_objects_by_location.find { |place| place[:data] == "#{PLANTED_FILE}:#{Workload::PLANT_LINE}" }
    line && line[:count] >= kept.size && "#{line[:count]} retained"
  end
end

class StackProfs
  OPTIONS = { object: { interval: 10 }, wall: { interval: 200 }, cpu: { interval: 200 } }

  def self.start
    require "stackprof"
    mode = ENV.fetch("STACKPROF").to_sym
    ::StackProf.start(mode:, raw: true, **OPTIONS.fetch(mode))
  end

  def self.stop = ::StackProf.stop

  def self.found(*)
    result = ::StackProf.results
    wanted = result[:mode] == :object ? PLANTED : "Workload.garbage"
    frames = result[:frames].values.select { |frame| frame[:name] == wanted && frame[:file] == PLANTED_FILE }
    frames.sum { |frame| frame[:total_samples] }.then { |samples| samples.positive? && "#{result[:mode]}: #{samples} of #{result[:samples]} samples" }
  end
end

# vernier: threads and allocations. A child that is forked meanwhile waits for ever, on the unpatched Ruby too.
class VernierWall
  def self.start
    require "vernier"
    @collector = Vernier::Collector.new(:wall, interval: 200, allocation_interval: 10)
    @collector.start
  end

  def self.stop = @result = @collector.stop

  def self.found(*)
    main = @result.main_thread
    stacks = main.dig(:allocations, :samples) || []
    stacks.any? { |stack| @result.stack_table.stack(stack).frames.any? { |frame| frame.func.name == PLANTED } } && "#{stacks.size} allocations"
  end
end

# vernier: what is alive at the end, every object of it.
class VernierRetained
  def self.start
    require "vernier"
    @collector = Vernier::Collector.new(:retained, {})
    @collector.start
  end

  def self.stop = @result = @collector.stop

  def self.found(kept, _)
    main = @result.main_thread
    count = main[:samples].count { |stack| @result.stack_table.stack(stack).frames.any? { |frame| frame.func.name == PLANTED } }
    count >= kept.size && "#{count} of #{main[:samples].size} retained"
  end
end

# Datadog's: allocations, living objects, CPU and wall, to an agent of our own on the loopback.
class DatadogProfiler
  def self.start
    @agent = Agent.new
    ENV.update("DD_TRACE_STARTUP_LOGS" => "false", "DD_INSTRUMENTATION_TELEMETRY_ENABLED" => "false", "DD_REMOTE_CONFIGURATION_ENABLED" => "false",
               "DD_CRASHTRACKING_ENABLED" => "false", "DD_TRACE_ENABLED" => "false", "DD_PROFILING_UPLOAD_PERIOD" => "1")
    require "datadog"
    require "logger"
    Datadog.configure do |c|
      c.logger.instance = Logger.new(File::NULL)
      c.agent.host = "127.0.0.1"
      c.agent.port = @agent.port
      c.profiling.enabled = true
      c.profiling.allocation_enabled = true
      c.profiling.advanced.experimental_heap_enabled = true
      c.profiling.advanced.experimental_heap_sample_rate = 1
    end
    require "datadog/profiling/preload"
  end

  # It takes few samples at first, and uploads once a second: a busy program gives it some more.
  def self.stop
    40.times do
      break if seen?
      Workload.garbage(2000)
      sleep 0.25
    end
    Datadog.shutdown!
    @agent.stop
  end

  def self.seen?
    @agent.profiles.any? { |text| text.include?(PLANTED_FILE) && text.include?("garbage") && text.include?("heap-live-samples") }
  end

  def self.found(*) = seen? && "#{@agent.profiles.size} profiles received"
end

PROFILERS = {
  "coverage" => LineCoverage, "oneshot-coverage" => OneshotCoverage, "tracepoint" => Traces, "trace_object_allocations" => AllocationTraces,
  "memory_profiler" => MemoryProfilers, "stackprof" => StackProfs, "vernier" => VernierWall, "vernier-retained" => VernierRetained,
  "datadog" => DatadogProfiler,
}.freeze
