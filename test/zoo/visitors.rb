# frozen_string_literal: true

# Visitors of a server on a socket of the file system, which they stop in the end: ruby visitors.rb SOCKET REQUESTS_A_SECOND SECONDS
require "socket"

def visit(path, number)
  UNIXSocket.open(path) do |socket|
    socket.write("GET /orders/#{number} HTTP/1.1\r\nHost: zoo\r\nConnection: close\r\n\r\n")
    socket.read
  end
end

path = ARGV[0]
per_second, seconds = ARGV.drop(1).map { |number| Float(number) }
started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
done = 0
while (now = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started) < seconds
  visit(path, done += 1) while done < (now * per_second).floor
  sleep 0.02
end
Process.kill(:TERM, Process.ppid)
