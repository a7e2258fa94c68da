# frozen_string_literal: true

# Serves the files of a folder on loopback, as a site for releases does. Prints its port.
# Usage: page.rb FOLDER
require "socket"

folder = ARGV.fetch(0)
server = TCPServer.new("127.0.0.1", 0)
$stdout.puts server.addr[1]
$stdout.close
loop do
  Thread.new(server.accept) do |client|
    method, path = client.gets.to_s.split
    while (line = client.gets) && line != "\r\n" do end
    file = File.join(folder, File.basename(path.to_s))
    found = File.file?(file)
    client.write("HTTP/1.1 #{found ? "200 OK" : "404 Not Found"}\r\ncontent-length: #{found ? File.size(file) : 0}\r\nconnection: close\r\n\r\n")
    IO.copy_stream(file, client) if found && method == "GET"
    client.close
  end
end
