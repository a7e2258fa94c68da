# Active Job with the adapter for tests, in a server: each job that is enqueued is put into a list, with its arguments.
#
# kind: leak
# line: active_job/, active_support/
# keeper: active_job/, @enqueued_jobs
# gems: activejob 8.0.2
# rate: 79000
require_relative "../load"
require "active_job"
require "active_job/queue_adapters/test_adapter"
ActiveJob::Base.logger = nil
ActiveJob::Base.queue_adapter = :test

class WelcomeJob < ActiveJob::Base
  def perform(*) = nil
end

Load.run(40) { |n| WelcomeJob.perform_later("user #{n}", { "fields" => Array.new(10) { |i| "field #{i} of user #{n}" } }) } # LEAK KEEPER
