# frozen_string_literal: true

# assert_retains_at_most, assert_no_leak, assert_allocates_at_most and assert_peak_at_most in test-unit; see HeapSample::Assertions.
require "test/unit"
require "heapsample/assertions"

module Test
  module Unit
    class TestCase
      include HeapSample::Assertions
    end
  end
end
