# A pool of connections: where an answer fails, its connection does not come back to the pool, and a new one with its buffers
# is made for the next. The list of all connections keeps those that are lost.
#
# kind: leak
# tuned: yes
# keeper: @all
require_relative "../load"

class Connection
  def initialize(number)
    @number = number
    @buffer = String.new("x" * 30_000) # LEAK
    @prepared = Array.new(50) { |i| "select #{i} from t#{number}" } # LEAK
  end

  def ask(number)
    raise IOError, "connection #{@number} was reset" if number % 6 == 0

    @prepared[number % 50] + @buffer[0, 50]
  end
end

class Pool
  def initialize
    @all = []
    @idle = []
  end

  def with
    connection = @idle.pop || open
    yield connection
    @idle.push(connection)
  end

  private

  def open
    connection = Connection.new(@all.size) # LEAK
    @all << connection # KEEPER
    connection
  end
end

POOL = Pool.new
Load.run(120) do |n|
  POOL.with { |connection| connection.ask(n) } # LEAK
rescue IOError
  Array.new(50) { |i| "<li>#{n} failed #{i}</li>" }.join
end
