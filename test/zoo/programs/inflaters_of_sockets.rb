# A server inflates compressed frames with one Zlib::Inflate for each client. A client that goes away without a close frame leaves its
# connection in the table of the server.
#
# kind: native
# also: leak
# line: zlib
# keeper: @clients, SocketServer, SERVER
# rate: 1800000
require_relative "../load"
require "zlib"

class Client
  def initialize = @inflater = Zlib::Inflate.new(-Zlib::MAX_WBITS) # LEAK
  def read(frame) = @inflater.inflate(frame, buffer: String.new(capacity: 16_384)) # LEAK
  def close = @inflater.close
end

class SocketServer
  def initialize = @clients = {}

  def frame(id, data)
    client = @clients[id] ||= Client.new # LEAK KEEPER
    client.read(data) # LEAK
  end

  def close(id) = @clients.delete(id)&.close
end

def deflated(text)
  deflater = Zlib::Deflate.new(Zlib::BEST_SPEED, -Zlib::MAX_WBITS)
  deflater.deflate(text, Zlib::SYNC_FLUSH).tap { deflater.close }
end

FRAME = deflated(Array.new(900) { |i| "message #{i} of a chat, with #{i * 7919} in it" }.join("\n"))
SERVER = SocketServer.new

Load.run(110) do |n|
  SERVER.frame(n, FRAME).lines.size # LEAK
  SERVER.close(n) if n % 5 > 1
end
