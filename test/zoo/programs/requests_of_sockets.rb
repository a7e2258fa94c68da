# A client opens a connection for each request and gives up on slow ones without closing them: socket, buffer and response stay in
# its list.
#
# kind: leak
# tuned: yes
# keeper: @open
require_relative "../load"
require "socket"
Process.setrlimit(:NOFILE, 60_000, 60_000) rescue nil

class Client
  def initialize = @open = []

  def get(number)
    ours, theirs = UNIXSocket.pair
    theirs.write("HTTP/1.1 200 OK\r\n\r\n#{"x" * 4_000}")
    response = { head: ours.gets, body: +"" } # LEAK
    response[:body] << ours.readpartial(4_096) # LEAK
    number % 3 == 0 ? @open << [ours, theirs, response] : [ours, theirs].each(&:close) # KEEPER
  end
end

client = Client.new
Load.run(30) { |n| client.get(n) }
