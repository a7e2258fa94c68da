# Each connection starts a thread that sends a heartbeat every half minute. When the connection is closed nobody ends it.
#
# kind: threads
# tuned: yes
require_relative "../load"

class Connection
  def initialize(number)
    @number = number
    @buffer = +""
    @heartbeat = Thread.new { loop { sleep 30; write("ping") } } # LEAK
  end

  def write(text) = @buffer << text
  def close = @buffer.clear
end

Load.run(15) do |n|
  connection = Connection.new(n) # LEAK
  200.times { |i| connection.write("message #{i}") }
  connection.close
end
