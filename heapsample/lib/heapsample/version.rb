# frozen_string_literal: true

module HeapSample
  module Tool
    VERSION = "0.1.0"
    # The library that it works with, the gem heap_sample: versions of this series.
    LIBRARY = "0.1"
  end
end
