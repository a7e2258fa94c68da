# A connection closes its socket in a finalizer, which is a method of the connection: so the finalizer refers to the
# connection, and the connection is never collected.
#
# kind: leak
# keeper: finalizer, define_finalizer
# rate: 340000
require_relative "../load"

class Connection
  def initialize(number)
    @buffer = String.new("response #{number} " * 150, capacity: 4096) # LEAK
    @headers = Array.new(10) { |i| ["header-#{i}", "value #{i} of #{number}"] }.to_h # LEAK
    ObjectSpace.define_finalizer(self, method(:close).to_proc) # LEAK KEEPER
  end

  def close(*) = @buffer.clear
  def read = @buffer[0, 100] + @headers["header-3"]
end

Load.run(50) { |n| Connection.new(n).read } # LEAK
