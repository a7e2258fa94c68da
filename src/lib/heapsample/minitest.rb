# frozen_string_literal: true

# assert_retains_at_most, assert_no_leak, assert_allocates_at_most and assert_peak_at_most in minitest; see HeapSample::Assertions.
require "minitest"
require "heapsample/assertions"

module Minitest
  module Assertions
    include HeapSample::Assertions
  end
end
