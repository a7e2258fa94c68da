# frozen_string_literal: true

require_relative "request_labels"

module HeapSample
  # Labels of jobs: +job+, the name of the class, and +queue+, while a job of ActiveJob is performed,
  # whatever runs it.
  #
  #   require "heapsample/active_job"      # heapsample/rails does it
  module ActiveJobLabels
    def self.included(base)
      base.around_perform do |job, block|
        RequestLabels.with(job: job.class.name, queue: job.queue_name, &block)
      end
    end
  end
end

ActiveSupport.on_load(:active_job) { include HeapSample::ActiveJobLabels }
