# frozen_string_literal: true

# No sleep ends early, and no queue gives what was not pushed.
class Sleeps < Act
  def call
    time = 0.02 + @random.rand * 0.1
    early = Array.new(1 + @random.rand(6)) do |index|
      Thread.new do
        begun = now
        case index % 3
        when 0 then sleep(time)
        when 1 then Thread::Queue.new.pop(timeout: time)
        else IO.pipe.then { |read, write| [read.wait_readable(time), read.close, write.close] }
        end
        now - begun < time - 0.001
      end
    end
    "#{early.count(&:value)} early"
  end
end
