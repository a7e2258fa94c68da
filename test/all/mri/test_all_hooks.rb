# frozen_string_literal: true

# Loaded into MRI's test-all runner (-r): records every test.

require File.expand_path('tool/test/init', ENV.delete('MRI_SOURCE'))
require_relative 'recorder'

# Test::Unit::Runner's own hooks.
module MRIRecorder::TestAllHooks
  def _start_method(test)
    MRIRecorder.start("#{test.class}##{test.__name__}")
    super
  end

  def record(suite, method, assertions, time, error, location = nil)
    status = case error
             when nil then 'pass'
             when Test::Unit::PendedError then 'skip'
             else 'fail'
             end
    message = error ? "#{error.class}: #{error.message.b}" : ''
    MRIRecorder.finish("#{suite}##{method}", status, time, message)
    super
  end
end

Test::Unit::AutoRunner::Runner.prepend(MRIRecorder::TestAllHooks)

if (file = ENV['MRI_CPU'] || '/tmp/t3.cpu')
  require 'etc'
  module CPUHook
    def _start_method(test) = (@cpu0 = Process.times.to_a.sum; super)
    def record(suite, method, assertions, time, error, location = nil)
      File.write('/tmp/t3.cpu', format("%.2f\t%.2f\t%s#%s\n", Process.times.to_a.sum - @cpu0.to_f, time, suite, method), mode: 'a') rescue nil
      super
    end
  end
  Test::Unit::AutoRunner::Runner.prepend(CPUHook)
end
