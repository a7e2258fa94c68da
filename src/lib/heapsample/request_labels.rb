# frozen_string_literal: true

module HeapSample
  # Labels for code of frameworks: what GC::SampleProfile.with_labels does, on a Ruby that has no
  # sampler, too, where it does nothing.
  module RequestLabels
    AVAILABLE = defined?(GC::SampleProfile) && GC::SampleProfile.respond_to?(:with_labels) ? true : false

    module_function

    # call-seq:
    #   RequestLabels.with(name: value, …) { … } -> what the block returns
    def with(**labels, &block)
      AVAILABLE ? GC::SampleProfile.with_labels(**labels, &block) : yield
    end

    # call-seq:
    #   RequestLabels.set(name: value, …) -> nil
    def set(**labels)
      GC::SampleProfile.set_labels(**labels) if AVAILABLE
    end
  end
end
