# frozen_string_literal: true

# Loaded into MRI's test-all runner (-r): writes down how every test ended, as soon as it has, into
# the file that MRI_RECORD names. A test that was started and never ended took the process with it.
# Lines: "start|pass|fail|skip", the test, its seconds, the message as String#dump; between tabs.

require File.expand_path('tool/test/init', ENV.fetch('MRI_SOURCE'))

module MRIRecorder
  # Out of the environment: tests print theirs, and start children of their own.
  FILE = ENV.delete('MRI_RECORD')
  ENV.delete('MRI_SOURCE')
  PID = Process.pid

  # Opened and closed each time: MRI's leak checker looks for descriptors.
  def self.write(*fields)
    return unless PID == Process.pid # forked by a test
    File.open(FILE, 'a') { |f| f.write("#{fields.join("\t")}\n") }
  end

  def self.status(error)
    case error
    when nil then 'pass'
    when Test::Unit::PendedError then 'skip'
    else 'fail'
    end
  end

  # Test::Unit::Runner's own hooks.
  module Hooks
    def _start_method(test)
      MRIRecorder.write('start', "#{test.class}##{test.__name__}")
      super
    end

    def record(suite, method, assertions, time, error, location = nil)
      message = error ? "#{error.class}: #{error.message.b}" : ''
      MRIRecorder.write(MRIRecorder.status(error), "#{suite}##{method}", format('%.2f', time), message.dump)
      super
    end
  end
end

Test::Unit::AutoRunner::Runner.prepend(MRIRecorder::Hooks)
