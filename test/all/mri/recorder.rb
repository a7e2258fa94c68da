# frozen_string_literal: true

# Writes down how every test ended, as soon as it has, into the file that MRI_RECORD names. A test that
# was started and never ended took the process with it.
# Lines: "start|pass|fail|skip", the test, its seconds, the message as String#dump; between tabs.
# Loaded into MRI's runners by what knows their hooks: test_all_hooks.rb, spec_hooks.mspec.
module MRIRecorder
  # Out of the environment: tests print theirs, and start children of their own. Open from the start:
  # a test may change the root directory.
  FILE = File.open(ENV.delete('MRI_RECORD'), 'a')
  FILE.sync = true
  PID = Process.pid

  def self.write(*fields)
    return unless PID == Process.pid # forked by a test
    FILE.write("#{fields.join("\t")}\n")
  end

  def self.start(test) = write('start', test)

  def self.finish(test, status, seconds, message)
    write(status, test, format('%.2f', seconds), message.b.dump)
  end
end
