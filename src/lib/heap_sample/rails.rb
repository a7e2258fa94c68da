# frozen_string_literal: true

require_relative "request_labels"
require_relative "active_job"

module HeapSample
  # Labels of Rails' requests: +controller+ ("orders", "admin/orders") and +action+, while a controller
  # works; and of jobs (HeapSample::ActiveJobLabels).  In config/application.rb, below
  # <tt>require "rails"</tt>:
  #
  #   require "heap_sample/rails"
  class Railtie < ::Rails::Railtie
    # They are prepared once for each action, so that a request costs little more than four calls.
    module Dispatch
      def dispatch(name, request, response)
        labels = self.class.heap_sample_labels(name)
        before = labels&.enter
        result = super
        self.class.heap_sample_serves(name) unless labels
        result
      ensure
        labels&.leave(before)
      end

      # The labels of each action of a controller's class.
      module OfClass
        # An address may name anything: what has no method of its own is an action once it was served (it has a template,
        # or action_missing takes it), and there is a bound.
        MOST = 256

        # Of an action; nil: it is not known as one.
        def heap_sample_labels(name)
          (@heap_sample_labels ||= {})[name] || (heap_sample_serves(name) if action_methods.include?(name.to_s))
        end

        def heap_sample_serves(name)
          return if @heap_sample_labels.size >= MOST

          labels = GC::SampleProfile.prepare_labels(controller: controller_path, action: name.to_s)
          @heap_sample_labels = {**@heap_sample_labels, name => labels}
          labels
        end
      end
    end

    initializer "heap_sample.labels" do
      ActiveSupport.on_load(:action_controller) do
        next unless RequestLabels::AVAILABLE

        ::ActionController::Metal.prepend(Dispatch)
        ::ActionController::Metal.extend(Dispatch::OfClass)
      end
    end
  end
end
