# frozen_string_literal: true

module HeapSample
  VERSION = "0.1.0"
end
