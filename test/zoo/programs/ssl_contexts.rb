# A client makes a certificate store and a context of OpenSSL for each host name and keeps it; the host names have the
# number of the job in them.
#
# kind: native
# tuned: yes
# also: leak
# line: openssl/
# keeper: CONTEXTS
require_relative "../load"
require "openssl"

CONTEXTS = {}
KEY = OpenSSL::PKey::EC.generate("prime256v1")
CERTIFICATE = OpenSSL::X509::Certificate.new.tap do |c|
  c.version = 2
  c.serial = 1
  c.subject = c.issuer = OpenSSL::X509::Name.parse("/CN=zoo")
  c.not_before = Time.now
  c.not_after = Time.now + 3600
  c.public_key = KEY
  c.sign(KEY, "SHA256")
end.to_der

def context(host)
  CONTEXTS[host] ||= begin # KEEPER
    store = OpenSSL::X509::Store.new # LEAK
    store.add_cert(OpenSSL::X509::Certificate.new(CERTIFICATE)) # LEAK
    OpenSSL::SSL::SSLContext.new.tap { |c| c.cert_store = store; c.setup } # LEAK
  end
end

Load.run(25) { |n| context("job-#{n}.example.com") } # LEAK
