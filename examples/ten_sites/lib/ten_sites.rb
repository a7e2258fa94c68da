# frozen_string_literal: true

require "ten_sites/ten_sites"

# ruby -rten_sites PROGRAM: at its end the ten lines that allocate the most stand on stderr. TEN_SITES_INTERVAL is the mean
# number of bytes between two samples.
module TenSites
  def self.report(rows, out = $stderr)
    lines = rows.group_by(&:first).transform_values { |same| same.sum(&:last) }
    all = lines.values.sum
    out.puts format("ten_sites: %.1f MiB of heap slots allocated", all / 1_048_576)
    lines.max_by(10, &:last).each { |line, bytes| out.puts format("%8.1f MiB %5.1f%%  %s", bytes / 1_048_576, 100 * bytes / all, line) }
  end

  if respond_to?(:start)
    start(Integer(ENV.fetch("TEN_SITES_INTERVAL", 65_536)))
    at_exit { report(stop) }
  else
    warn "ten_sites: this Ruby offers no sampled allocations (it has no ruby/heap_sampler.h): nothing is measured"
  end
end
