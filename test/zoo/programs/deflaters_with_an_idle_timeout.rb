# Healthy: each client has a Zlib::Deflate, whose buffers zlib has malloc'ed. A client that is idle for eight seconds is closed and
# removed.
#
# kind: steady
# also: bloat
# settles: 10
require_relative "../load"
require "zlib"

class Client
  attr_reader :used

  def initialize = @deflater = Zlib::Deflate.new(Zlib::BEST_SPEED)
  def send(text) = (@used = Load.seconds).then { @deflater.deflate(text, Zlib::SYNC_FLUSH) }
  def close = @deflater.close
end

class Clients
  def initialize = @clients = {}
  def send(id, text) = (@clients[id] ||= Client.new).send(text)
  def sweep = @clients.delete_if { |_, client| client.used < Load.seconds - 8 && client.close || client.used < Load.seconds - 8 }
end

CLIENTS = Clients.new
Load.run(60) do |n|
  CLIENTS.send(n, "news of the day, number #{n}: #{Array.new(40) { |i| i * n }.join(", ")}")
  CLIENTS.send(n - 60, "more news, number #{n}") if n > 60
  CLIENTS.sweep if n % 20 == 0
end
