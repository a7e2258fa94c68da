# frozen_string_literal: true

# Each signal is handled once, and by the program's own handler.
class Signals < Act
  def call
    came = 0
    before = trap(:USR1) { came += 1 }
    wanted = 1 + @random.rand(10)
    wanted.times do |index|
      Process.kill(:USR1, Process.pid)
      break unless soon { came > index }
    end
    "#{came} of #{wanted}"
  ensure
    trap(:USR1, before)
  end
end
