# frozen_string_literal: true

# fork inside a Ractor: in the child that Ractor is the main one.
#
# The unpatched 3.4.5 survives that only so: no other thread has run before, the main one sleeps (in take) at the
# fork, and the child does little. Else it hangs, raises NoMemoryError when the child comes to a GC, or crashes with
# "[BUG] pthread_mutex_lock: Invalid argument" in rb_thread_atfork.
class ForksFromRactors < Act
  def self.beside?(_other) = false

  def step
    ractor = Ractor.new(@random.rand(1 << 30)) do |seed|
      sleep 0.003
      pid = fork { exit!(Array.new(7) { |i| [seed, i.to_s] }.size) }
      Ractors.work(seed, __FILE__)
      Process.wait2(pid)[1].exitstatus
    end
    same(7, ractor.take, "a child's status")
  end
end
