# frozen_string_literal: true

# For tests that run a server: a port of its own, and waiting for what it does.

require "socket"
require_relative "tap"

def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

# What the block returns once that is true.
def waits_for(seconds)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (got = yield)
    flunk("not within #{seconds} s") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    sleep 0.02
  end
  got
end
