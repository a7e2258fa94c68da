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
