# frozen_string_literal: true

# `heapsample run` loads this file into the programs that it runs, by RUBYOPT.  When such a program ends, it saves a profile
# after a full GC, with a heap walk: what is left is retained, and the profile has what retains it.  A Ruby without the sampler
# does nothing.

if ENV["HEAPSAMPLE_AT_END"] && defined?(GC::SampleProfile) && GC::SampleProfile.running?
  at_exit do
    if GC::SampleProfile.running?
      path = "#{ENV["HEAPSAMPLE_AT_END"]}/heap-#{Process.pid}-#{Time.now.utc.strftime("%Y%m%dT%H%M%S")}-end.pb.gz"
      GC.sample_profile(full_gc: true, why: true).send(:raw_save, path)
      GC::SampleProfile.stop # or it would save one more
    end
  rescue StandardError, NoMemoryError => e
    warn "heapsample run: no heap walk at the end: #{e.message}"
  end
end
