# Healthy: Active Job with its own adapter of threads: jobs of a tenth to four seconds, which read rows of their own and leave
# nothing; a table of the last results of 100 kinds. It has at most eight threads, with a stack of 1 MB each, and the last
# one starts late.
#
# kind: steady
# also: bloat
# settles: 36
# gems: activejob 8.0.2
require_relative "../load"
require "active_job"
ActiveJob::Base.logger = nil
ActiveJob::Base.queue_adapter = ActiveJob::QueueAdapters::AsyncAdapter.new(min_threads: 2, max_threads: 8, idletime: 60)

RESULTS = {}

class SumJob < ActiveJob::Base
  def perform(number)
    rows = Array.new(1_500) { |i| "row #{i} of job #{number}" }
    sleep number % 9 == 0 ? 1.5 : 0.1
    RESULTS[number % 100] = rows.sum(&:size)
  end
end

Load.run(12) { |n| SumJob.perform_later(n) }
