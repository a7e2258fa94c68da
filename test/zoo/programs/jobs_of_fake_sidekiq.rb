# A server that was deployed with Sidekiq's mode for tests: nothing fetches the jobs, and Sidekiq::Queues holds all of them.
#
# kind: leak
# line: sidekiq, json
# keeper: sidekiq/testing.rb, Sidekiq::Queues, @queues, @jobs_by_queue, @jobs_by_class, jobs_by_queue, jobs_by_class
# gems: sidekiq 8.1.7
# rate: 97000
require_relative "../load"
require "sidekiq"
require "sidekiq/testing"
Sidekiq.configure_client { |config| config.logger = nil }
Sidekiq::Testing.fake!

class ReportJob
  include Sidekiq::Job
  def perform(*) = nil
end

Load.run(60) do |n|
  ReportJob.perform_async(n, { "title" => "report #{n}", "columns" => Array.new(12) { |i| "column #{i} of #{n}" } }) # LEAK KEEPER
  Array.new(30) { |i| "<td>#{i}</td>" }.join
end
