# A gateway checks the certificate of each client. It appends the parsed certificates to a list of its class, for an audit that was
# never written. Most of the memory is malloc'ed by OpenSSL.
#
# kind: native
# also: leak
# line: openssl
# keeper: @checked, Gateway
# rate: 1300000
require_relative "../load"
require "openssl"

class Gateway
  KEY = OpenSSL::PKey::RSA.new(2048)
  PUBLIC_KEY = OpenSSL::PKey.read(KEY.public_to_pem)

  class << self
    def certificate
      @certificate ||= OpenSSL::X509::Certificate.new.tap do |one|
        one.version = 2
        one.serial = 1
        one.subject = one.issuer = OpenSSL::X509::Name.parse("/CN=client/O=Example")
        one.public_key = PUBLIC_KEY
        one.not_before = Time.now
        one.not_after = Time.now + 86_400
        names = Array.new(160) { |i| "DNS:host-#{i}.clients.example.org" }.join(",")
        one.add_extension(OpenSSL::X509::ExtensionFactory.new.create_extension("subjectAltName", names))
        one.sign(KEY, OpenSSL::Digest.new("SHA256"))
      end
    end

    def check(pem)
      client = OpenSSL::X509::Certificate.new(pem) # LEAK
      (@checked ||= []) << client # LEAK KEEPER
      client.verify(PUBLIC_KEY) && client.subject.to_s
    end
  end
end

PEM = Gateway.certificate.to_pem
Load.run(90) do |n|
  Gateway.check(PEM) # LEAK
  Array.new(30) { |i| "header-#{i}: value #{n}" }.join("\r\n")
end
