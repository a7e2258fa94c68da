# frozen_string_literal: true

# A server that answers each line with "row for LINE", and prints what is no query: bytes that somebody else sent over a
# connection of the program, or that are missing.  Its first line is its port.
require "socket"

server = TCPServer.new("127.0.0.1", 0)
$stdout.sync = true
puts server.addr[1]
loop do
  Thread.new(server.accept) do |client|
    while (line = client.gets)
      puts "the database got #{line.inspect}" unless line.match?(/\Aselect \d+-\d+-\d+\n\z/)
      client.write("row for #{line}")
    end
  rescue SystemCallError
    nil
  ensure
    client.close
  end
end
