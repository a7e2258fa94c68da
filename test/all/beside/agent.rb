# frozen_string_literal: true

# Stands in for Datadog's agent on the loopback: answers every request, and keeps the profiles that are sent.
require "open3"
require "socket"

class Agent
  ZSTD = "\x28\xB5\x2F\xFD".b

  attr_reader :port

  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @bodies = Queue.new
    @profiles = []
    @thread = Thread.new { loop { answer(@server.accept) } }
  end

  def stop
    @thread.kill.join
    @server.close
  end

  # What was received so far, as plain pprof.
  def profiles
    @profiles.concat(files(@bodies.pop)) until @bodies.empty?
    @profiles
  end

  private

  # One upload has several files in it: each is a zstd frame up to the next boundary.
  def files(body)
    boundary = body[/\A(--[^\r\n]+)\r\n/n, 1] or return []
    body.split("\r\n#{boundary}".b).filter_map { |part| unpack(part[part.index("\r\n\r\n") + 4..]) if part.include?("\r\n\r\n".b) }
  end

  def unpack(bytes)
    bytes.start_with?(ZSTD) ? Open3.capture2("zstd", "-dcq", stdin_data: bytes, binmode: true).first : nil
  end

  def answer(socket)
    head = +""
    head << socket.readline until head.end_with?("\r\n\r\n")
    length = head[/^content-length: (\d+)/i, 1]
    @bodies << (length ? socket.read(length.to_i) : chunked(socket))
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
  rescue EOFError, SystemCallError
    nil
  ensure
    socket.close
  end

  def chunked(socket)
    body = "".b
    while (size = socket.readline.hex).positive?
      body << socket.read(size)
      socket.readline
    end
    body
  end
end
