# Datadog's heap profiler; its profiles are written to files in place of being sent to an agent.
module ProfilesToFiles
  def self.export(flush)
    @count = @count.to_i + 1
    File.binwrite("#{Measure::OUT}/datadog-#{@count}.pprof.zst", flush.encoded_profile._native_bytes)
    true
  end
end
require "datadog"
Datadog.configure { |c| c.profiling.exporter.transport = ProfilesToFiles }
require_relative "../datadog"
