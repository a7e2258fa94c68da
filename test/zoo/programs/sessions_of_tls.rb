# A gateway for meters speaks TLS, and each meter has a certificate. The gateway stores the TLS session of a
# connection, so that the meter can resume it. A meter of this type never resumes a session but begins a new one, and
# the gateway only deletes a session when it is resumed. Most of the memory is malloc'ed by OpenSSL.
#
# kind: native
# also: leak
# line: openssl
# keeper: @sessions, GATEWAY, Gateway
# rate: 370000
require_relative "../load"
require "openssl"
require "socket"

# A key, and a certificate that its owner has signed. The certificate of a meter has the results of its calibration.
def identity(name, serial, calibration = "none")
  key = OpenSSL::PKey::EC.generate("prime256v1")
  certificate = OpenSSL::X509::Certificate.new
  certificate.version = 2
  certificate.serial = serial
  certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/C=AT/O=Meters of the town/CN=#{name}")
  certificate.public_key = key
  certificate.not_before = Time.now - 60
  certificate.not_after = Time.now + 86_400
  certificate.add_extension(OpenSSL::X509::ExtensionFactory.new.create_extension("nsComment", calibration))
  [certificate.sign(key, OpenSSL::Digest.new("SHA256")), key]
end

class Gateway
  def initialize(certificate, key)
    @sessions = {}
    @context = OpenSSL::SSL::SSLContext.new
    @context.cert = certificate
    @context.key = key
    @context.verify_mode = OpenSSL::SSL::VERIFY_PEER
    @context.verify_callback = ->(_good, _store) { true }
    @context.session_id_context = "meters"
    @context.session_cache_mode = OpenSSL::SSL::SSLContext::SESSION_CACHE_SERVER | OpenSSL::SSL::SSLContext::SESSION_CACHE_NO_INTERNAL
    @context.session_new_cb = ->((_socket, session)) { store(session) }
    @context.session_get_cb = ->((_socket, id)) { @sessions.delete(id) }
  end

  def store(session)
    @sessions[session.id] = session # LEAK KEEPER
  end

  # Yields the connection of a meter.
  def serve(socket)
    connection = OpenSSL::SSL::SSLSocket.new(socket, @context)
    connection.accept # LEAK
    yield connection
  ensure
    connection&.close
    socket.close
  end
end

GATEWAY = Gateway.new(*identity("gateway", 1))
METERS = Array.new(8) do |i|
  context = OpenSSL::SSL::SSLContext.new
  context.cert, context.key = identity("meter #{i}", i + 2, Array.new(120) { |k| "at #{k * 4} ampere: #{k * 31 % 97 / 100.0} percent" }.join("; "))
  context
end
READINGS = Array.new(100, 0.0)

def read_meter(context, number)
  here, there = UNIXSocket.pair
  meter = Thread.new do
    connection = OpenSSL::SSL::SSLSocket.new(there, context)
    connection.connect
    connection.puts "#{number} #{number * 31 % 9_000}"
    connection.gets
    connection.close
    there.close
  end
  GATEWAY.serve(here) do |connection| # LEAK
    READINGS[number % 100] = connection.gets.split.last.to_f
    connection.puts "thank you"
  end
  meter.join
end

Load.run(25) { |n| read_meter(METERS[n % 8], n) } # LEAK
