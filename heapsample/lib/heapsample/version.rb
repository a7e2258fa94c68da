# frozen_string_literal: true

module HeapSample
  module Tool
    VERSION = "0.1.0"
  end
end
