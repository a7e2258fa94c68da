# frozen_string_literal: true

# Does OpenSSL accept what the system accepts? Usage: ruby certificates.rb make    an authority of its own, for the system (root)
#                                                     ruby certificates.rb try accepted|refused
require "net/http"
require "openssl"
require "socket"

FOLDER = "/var/lib/certificates-test"
INSTALLED = "/usr/local/share/ca-certificates/test.crt"

def certificate(name, key, issuer, issuer_key, authority)
  OpenSSL::X509::Certificate.new.tap do |c|
    c.version = 2
    c.serial = rand(1 << 60)
    c.subject = OpenSSL::X509::Name.parse("/CN=#{name}")
    c.issuer = issuer ? issuer.subject : c.subject
    c.public_key = key.public_key
    c.not_before = Time.now - 60
    c.not_after = Time.now + 86_400
    extensions = OpenSSL::X509::ExtensionFactory.new(issuer || c, c)
    c.add_extension(extensions.create_extension("basicConstraints", "CA:#{authority.to_s.upcase}", true))
    c.add_extension(extensions.create_extension("subjectAltName", "DNS:localhost")) unless authority
    c.sign(issuer_key, "SHA256")
  end
end

def make
  keys = Array.new(2) { OpenSSL::PKey::RSA.new(2048) }
  root = certificate("a test's authority", keys[0], nil, keys[0], true)
  leaf = certificate("localhost", keys[1], root, keys[0], false)
  Dir.mkdir(FOLDER)
  File.write("#{FOLDER}/leaf.pem", leaf.to_pem + keys[1].private_to_pem)
  File.write(INSTALLED, root.to_pem)
end

def try
  pem = File.read("#{FOLDER}/leaf.pem")
  context = OpenSSL::SSL::SSLContext.new
  context.add_certificate(OpenSSL::X509::Certificate.new(pem), OpenSSL::PKey.read(pem[/-----BEGIN PRIVATE.*/m]))
  tcp = TCPServer.new("localhost", 0)
  server = OpenSSL::SSL::SSLServer.new(tcp, context)
  Thread.new do
    server.accept.write("HTTP/1.0 204 No Content\r\n\r\n")
  rescue OpenSSL::SSL::SSLError
    nil
  end
  Net::HTTP.start("localhost", tcp.addr[1], use_ssl: true) { |http| http.get("/") }
  "accepted"
rescue OpenSSL::SSL::SSLError => e
  puts e.message
  "refused"
ensure
  puts "certificates: #{OpenSSL::X509::DEFAULT_CERT_FILE}"
end

case ARGV
in ["make"] then make
in ["try", expected]
  found = try
  puts found
  exit found == expected
end
