# frozen_string_literal: true

# For tests that run a server: a port of its own, and waiting for what it does.

require "rbconfig"
require "socket"
require "tmpdir"

# No other test gets the same until this process ends, although no process listens there yet.
def free_port
  port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  lock = File.open(File.join(Dir.tmpdir, "heap-sampler-test-port-#{port}"), File::CREAT | File::RDWR)
  return free_port unless lock.flock(File::LOCK_EX | File::LOCK_NB)

  owner = Process.pid
  at_exit { File.unlink(lock.path) if Process.pid == owner }
  port
end

# What the block returns once that is true.
def waits_for(seconds)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (got = yield)
    raise "not within #{seconds} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

    sleep 0.02
  end
  got
end

# The number that a server of ours answers with, such as a worker's process id; nil if it does not answer.
def number_at(port, path = "/")
  TCPSocket.open("127.0.0.1", port) { |s| s.write("GET #{path} HTTP/1.0\r\n\r\n") && s.read[/\d+\z/]&.to_i }
rescue SystemCallError
  nil
end

# Yields the port and the process id of a Puma that answers, with this configuration. +start+: what starts it, in place of
# spawn; +signal+: what ends it; +up+: does it answer at this port?
def puma(config, env, log:, options: [], start: method(:spawn), signal: :TERM, up: method(:number_at))
  port = free_port
  program = File.join(Gem.loaded_specs.fetch("puma").bin_dir, "puma")
  master = start.call({"PORT" => port.to_s, **env}, RbConfig.ruby, *options, program, "-C", config, %i[out err] => log)
  waits_for(60) { up.call(port) }
  yield port, master
ensure
  if master
    Process.kill(signal, master)
    Process.wait(master)
  end
end
