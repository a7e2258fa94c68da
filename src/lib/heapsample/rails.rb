# frozen_string_literal: true

require_relative "request_labels"
require_relative "active_job"
require_relative "label_book" if HeapSample::RequestLabels::AVAILABLE

module HeapSample
  # Labels of Rails' requests: +controller+ ("orders", "admin/orders") and +action+, while a controller
  # works; and of jobs (HeapSample::ActiveJobLabels).  In config/application.rb, below
  # <tt>require "rails"</tt>:
  #
  #   require "heapsample/rails"
  class Railtie < ::Rails::Railtie
    # Labels are prepared once for each action.
    module Dispatch
      BOOK = (GC::SampleProfile::LabelBook.new { |controller, action| Dispatch.labels(controller, action) } if RequestLabels::AVAILABLE)

      # nil: it is no action.
      def self.labels(controller, action)
        return unless controller.action_methods.include?(action) || controller.new.available_action?(action)

        GC::SampleProfile.prepare_labels(controller: controller.controller_path, action: action)
      end

      def dispatch(name, request, response)
        before = BOOK.enter(self, name)
        super
      ensure
        BOOK.leave(self, name, before)
      end
    end

    initializer "heapsample.labels" do |app|
      next unless RequestLabels::AVAILABLE

      ActiveSupport.on_load(:action_controller) { ::ActionController::Metal.prepend(Dispatch) }
      app.reloader.before_class_unload { Dispatch::BOOK.clear }
    end
  end
end
