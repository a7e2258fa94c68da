# frozen_string_literal: true

# SIGTERM ends a child that sleeps or computes, as soon as ever.
class Terminations < Act
  def call
    computes = @random.rand(2).zero?
    read, write = IO.pipe
    pid = fork do
      write.write("ready\n")
      computes ? busy : sleep(PATIENCE)
      exit!(9)
    end
    line_of(read)
    [read, write].each(&:close)
    sleep(@random.rand * 0.02)
    Process.kill(:TERM, pid)
    ending_of(pid)
  end
end
