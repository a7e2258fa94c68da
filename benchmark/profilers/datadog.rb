# Allocation and live-heap profiling alone; nothing listens where it would report to.
ENV["DD_TRACE_STARTUP_LOGS"] = "false"
ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
require "datadog"
require "logger"
Datadog.configure do |c|
  c.logger.instance = Logger.new(File::NULL)
  c.profiling.enabled = true
  c.profiling.allocation_enabled = true
  c.profiling.advanced.experimental_heap_enabled = true
end
require "datadog/profiling/preload"
