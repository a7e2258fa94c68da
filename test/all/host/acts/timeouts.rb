# frozen_string_literal: true

# Each Timeout must come.
class Timeouts < Act
  def call
    wanted = 2 + @random.rand(20)
    came = 0
    wanted.times do
      Timeout.timeout(0.001 + @random.rand * 0.01) { busy }
      break
    rescue Timeout::Error
      came += 1
    end
    "#{came} of #{wanted}"
  end
end
