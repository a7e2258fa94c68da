# A stock exchange sends the state of its order books to its clients by websockets. A driver (websocket-driver) is made
# for each client that connects, and put into the list of the room; it is started when the login is accepted. Until
# then the driver stores all frames. The drivers of clients whose login was refused stay in the list.
#
# kind: leak
# line: websocket/driver
# keeper: @queue, @clients, ROOM, Room, WebSocket::Driver, websocket/driver
# gems: websocket-driver 0.7.6
# rate: 1300000
require_relative "../load"
require "json"
require "websocket/driver"

# A connection; what is written to it goes to the network.
class Connection
  attr_reader :env, :written

  def initialize(number)
    @env = { "REQUEST_METHOD" => "GET", "HTTP_CONNECTION" => "Upgrade", "HTTP_UPGRADE" => "websocket", "HTTP_HOST" => "exchange.example",
             "HTTP_SEC_WEBSOCKET_VERSION" => "13", "HTTP_SEC_WEBSOCKET_KEY" => ["client #{number}".ljust(16)].pack("m0") }
    @written = 0
  end

  def write(bytes) = @written += bytes.bytesize
end

class Room
  def initialize = @clients = []

  def enter(connection, accepted:)
    driver = WebSocket::Driver.rack(connection)
    @clients << driver
    driver.start if accepted
  end

  def send_all(message) = @clients.each { |driver| driver.text(message) } # LEAK KEEPER
end

ROOM = Room.new
24.times { |i| ROOM.enter(Connection.new(i), accepted: i % 6 != 5) }

# The state of an order book.
def book(number)
  rows = Array.new(60) { |i| { price: 1_000 + (number * (i + 7) % 900), pieces: number * i % 977, orders: i % 9, side: i.even? ? "buy" : "sell", house: "house #{i * 31 % 90}" } }
  JSON.generate({ paper: "paper #{number % 40}", number: number, rows: rows }) # LEAK
end

Load.run(250) { |n| ROOM.send_all(book(n)) } # LEAK
