# A proxy before a database remembers the notices of each connection in a WeakKeyMap, which would drop them with the connection. The
# connections are those of a pool, and live as long as the proxy.
#
# kind: leak
# keeper: NOTICES, WeakKeyMap
# rate: 290000
require_relative "../load"

Notice = Struct.new(:severity, :text, :fields)

class Connection
  attr_reader :name

  def initialize(number)
    @name = "backend #{number}"
    @parameters = { "client_encoding" => "UTF8", "TimeZone" => "UTC", "application_name" => "shop #{number}" }
    @sent = 0
  end

  # An answer: rows (D), and a notice (N) after every answer.
  def query(number)
    @sent += 1
    rows = Array.new(60) { |i| message("D", ["#{number}", "customer #{i * number % 9_000}", "#{i * 1.25} EUR"].map { |value| [value.bytesize, value].pack("Na*") }.join) }
    rows.join << message("N", "SWARNING\0Mtable orders_#{number} has no index for this query, the plan was a sequence scan\0Frelcache.c\0L#{number}\0\0")
  end

  private

  def message(type, body) = type.b << [body.bytesize + 4].pack("N") << body
end

class Proxy
  NOTICES = ObjectSpace::WeakKeyMap.new

  def initialize(size) = @pool = Array.new(size) { |i| Connection.new(i) }

  def run(number)
    connection = @pool[number % @pool.size]
    bytes = connection.query(number)
    at = rows = 0
    while at < bytes.bytesize
      type, size = bytes.unpack("aN", offset: at)
      body = bytes.byteslice(at + 5, size - 4)
      type == "N" ? note(connection, body) : rows += columns(body).size # LEAK
      at += size + 1
    end
    rows
  end

  private

  def note(connection, body)
    fields = body.split("\0").to_h { |field| [field[0], field[1..]] } # LEAK
    (NOTICES[connection] ||= []) << Notice.new(fields["S"], fields["M"], fields) # LEAK KEEPER
  end

  def columns(body)
    at = 0
    [].tap do |values|
      while at < body.bytesize
        size = body.unpack1("N", offset: at)
        values << body.byteslice(at + 4, size)
        at += 4 + size
      end
    end
  end
end

PROXY = Proxy.new(24)
Load.run(500) { |n| PROXY.run(n) } # LEAK
