# frozen_string_literal: true

# Thread#raise arrives, with its own message, and in the thread that it was meant for.
class ThreadRaises < Act
  Wanted = Class.new(StandardError)

  def call
    threads = Array.new(1 + @random.rand(8)) do |index|
      begun = Queue.new
      thread = Thread.new do
        begun << true
        index.even? ? busy : sleep(PATIENCE)
        "lost"
      rescue Wanted => e
        e.message
      end
      begun.pop
      [thread, index]
    end
    sleep(@random.rand * 0.01)
    threads.each { |thread, index| thread.raise(Wanted, "for #{index}") }
    arrived = threads.count { |thread, index| thread.join(PATIENCE) && thread.value == "for #{index}" }
    "#{arrived} of #{threads.size}"
  end
end
