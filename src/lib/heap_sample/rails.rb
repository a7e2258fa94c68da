# frozen_string_literal: true

require_relative "request_labels"
require_relative "active_job"

module HeapSample
  # Labels of Rails' requests: +controller+ ("orders", "admin/orders") and +action+, from the moment
  # the controller begins until the request ends; and of jobs (HeapSample::ActiveJobLabels).  In
  # config/application.rb, below <tt>require "rails"</tt>:
  #
  #   require "heap_sample/rails"
  class Railtie < ::Rails::Railtie
    NONE = {controller: nil, action: nil}.freeze

    # Of the controller that runs now.
    def self.label
      controller = ActiveSupport::ExecutionContext.to_h[:controller]
      RequestLabels.set(**(controller ? labels(controller) : NONE))
    end

    def self.labels(controller)
      {controller: controller.respond_to?(:controller_path) ? controller.controller_path : controller.class.name,
       action: controller.respond_to?(:action_name) ? controller.action_name : nil}
    end
    private_class_method :labels

    initializer "heap_sample.labels" do |app|
      next unless RequestLabels::AVAILABLE

      require "active_support/execution_context"
      ActiveSupport::ExecutionContext.after_change { Railtie.label }
      # The context is cleared at the end without a word.
      app.executor.to_complete { RequestLabels.set(**NONE) }
    end
  end
end
