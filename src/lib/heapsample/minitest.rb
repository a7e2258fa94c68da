# frozen_string_literal: true

# assert_retains_at_most and assert_no_leak in minitest; see HeapSample::Assertions.
require "minitest"
require "heapsample/assertions"

module Minitest
  module Assertions
    include HeapSample::Assertions
  end
end
