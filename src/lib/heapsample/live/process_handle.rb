# frozen_string_literal: true

require "io/wait"

module HeapSample
  # A process, held by a descriptor (pidfd): another process may get its number at any moment.  What was read from
  # /proc/PID belongs to this process if it is still alive afterwards.
  class ProcessHandle
    # System calls of Linux 5.3 and 5.1: the same numbers on x86-64, arm64 and all that is newer.
    PIDFD_OPEN = 434
    PIDFD_SEND_SIGNAL = 424

    # The block gets it.  Errno::ESRCH: there is no such process; Errno::ENOSYS: the kernel has no pidfd.
    def self.open(pid)
      handle = new(pid)
      yield handle
    ensure
      handle&.close
    end

    def initialize(pid)
      @io = IO.for_fd(system_call(PIDFD_OPEN, pid, 0), "rb")
    end

    def alive? = !@io.wait_readable(0)
    def signal(number) = system_call(PIDFD_SEND_SIGNAL, @io.fileno, number, 0, 0)
    def close = @io.close

    private

    # Kernel#syscall is deprecated for Fiddle, which not every Ruby has.
    def system_call(*arguments)
      warns, Warning[:deprecated] = Warning[:deprecated], false
      syscall(*arguments)
    ensure
      Warning[:deprecated] = warns
    end
  end
end
