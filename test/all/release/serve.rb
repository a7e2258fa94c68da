# frozen_string_literal: true

# Serves the files of a folder on loopback, and prints the port. Usage: ruby serve.rb FOLDER
require "socket"

server = TCPServer.new("127.0.0.1", 0)
puts server.addr[1]
$stdout.flush
loop do
  Thread.new(server.accept) do |client|
    verb, path = client.gets.split
    nil until client.gets == "\r\n"
    file = File.join(ARGV.fetch(0), File.basename(path))
    if File.file?(file)
      client.write "HTTP/1.1 200 OK\r\nContent-Length: #{File.size(file)}\r\nConnection: close\r\n\r\n"
      IO.copy_stream(file, client) unless verb == "HEAD"
    else
      client.write "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    end
    client.close
  end
end
