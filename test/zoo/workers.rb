# frozen_string_literal: true

# Forked workers of a server, below a master that waits.
module Workers
  module_function

  # Yields the index of each worker in a process of its own.
  def run(count)
    Array.new(count) { |index| fork { yield index } }.each { |pid| Process.wait(pid) }
  end

  # As run, but each worker gets the number of seconds it has, and another takes its place until the time is over.
  def replaced(count, every:)
    run_one = -> { fork { yield [every, Load::SECONDS - Load.seconds].min } }
    workers = Array.new(count) { run_one.call }
    while workers.any?
      workers.delete(Process.wait)
      workers << run_one.call if Load.seconds + 2 < Load::SECONDS
    end
  end
end
