# A server of websockets: clients come for half a minute until there are 900 of them, and then one leaves when one
# comes.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 31
require_relative "../load"
Client = Struct.new(:id, :buffer, :channels, :pings)
CLIENTS = []
def connect(id)
  CLIENTS << Client.new(id, String.new("x" * 2048), Array.new(5) { |i| "room-#{id}-#{i}" }, [])
  CLIENTS.shift if CLIENTS.size > 900
end

def broadcast(text) = CLIENTS.sample(30).each { |client| client.buffer.replace("#{text}#{client.id}".ljust(2048)) }
Load.run(30) { |n| connect(n); broadcast("news #{n} ") }
