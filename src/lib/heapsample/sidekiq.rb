# frozen_string_literal: true

require_relative "request_labels"

module HeapSample
  # Labels of Sidekiq's jobs: +job+, the name of the class (of an ActiveJob's, that one's), and
  # +queue+.  In the file that configures Sidekiq:
  #
  #   require "heapsample/sidekiq"
  class SidekiqLabels
    include ::Sidekiq::ServerMiddleware if defined?(::Sidekiq::ServerMiddleware)

    def call(_instance, job, queue, &block)
      RequestLabels.with(job: job["wrapped"].is_a?(String) ? job["wrapped"] : job["class"].to_s, queue: queue, &block)
    end
  end
end

Sidekiq.configure_server do |config|
  config.server_middleware { |chain| chain.prepend HeapSample::SidekiqLabels }
end
