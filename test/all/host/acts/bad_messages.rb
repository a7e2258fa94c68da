# frozen_string_literal: true

# An exception whose message cannot be had is raised in a thread.
class BadMessages < Act
  class Bad < StandardError
    def message = raise("no message")
  end

  def call
    wanted = 1 + @random.rand(6)
    arrived = wanted.times.take_while do
      begun = Queue.new
      thread = Thread.new do
        begun << true
        busy
        :lost
      rescue Bad
        :arrived
      end
      begun.pop
      sleep(@random.rand * 0.005)
      thread.raise(Bad)
      thread.join(PATIENCE) && thread.value == :arrived
    end
    "#{arrived.size} of #{wanted}"
  end
end
