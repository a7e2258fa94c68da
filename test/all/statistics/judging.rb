# frozen_string_literal: true

require_relative "bounds"

# Figures of many trials against their bounds. Each is printed below its test.
module Judging
  def assert_unbiased(mean, truth, standard_error, what = "bias")
    z = (mean - truth) / standard_error
    note format("%s: z %.2f, mean %.1f of %.1f", what, z, mean, truth)
    assert_operator z.abs, :<, Bounds::DEVIATIONS, what
  end

  def assert_ratio(what, ratio, range)
    note format("%s: %.3f, %s", what, ratio, Bounds.shown(range))
    assert_includes range, ratio, what
  end
end
