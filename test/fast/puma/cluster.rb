# frozen_string_literal: true

# A Puma cluster for the tests in this folder.

require_relative "../../testing"
require_relative "../../gems"
PUMA_OUT = set_up_gems(__dir__, ("datadog" if ENV["DATADOG"]))

require "heapsample"
require_relative "../../server"

class PumaTest < Test
  OUT = PUMA_OUT

  # Yields the port and the process id of a cluster with this configuration.
  def cluster(name, env, **options, &) = puma(File.join(__dir__, "#{name}_puma.rb"), env, log: "#{OUT}/#{name}.log", **options, &)
end
