# A hub takes orders from its partners as signed messages (PKCS #7). It checks the signature and answers with a
# receipt. The message stays in a list until the receipt is confirmed, in case that the partner disputes it. Two of
# the twelve partners have an old program that never confirms. Half of the memory is malloc'ed by OpenSSL, and half is
# the text that the check took out of the message.
#
# kind: leak
# also: native
# rate: 2700000
require_relative "../load"
require "openssl"

KEY = OpenSSL::PKey::RSA.new(2048)
CERTIFICATE = OpenSSL::X509::Certificate.new.tap do |certificate|
  certificate.version = 2
  certificate.serial = 17
  certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=partner")
  certificate.public_key = KEY.public_key
  certificate.not_before = Time.now - 60
  certificate.not_after = Time.now + 86_400
  certificate.sign(KEY, OpenSSL::Digest.new("SHA256"))
end
STORE = OpenSSL::X509::Store.new.tap { |store| store.add_cert(CERTIFICATE) }

Partner = Struct.new(:name, :confirms)

class Hub
  attr_reader :receipts, :refused

  def initialize
    @disputable = Hash.new { |messages, name| messages[name] = {} } # LEAK
    @receipts = Hash.new(0)
    @refused = 0
  end

  def take(partner, number, der)
    message = OpenSSL::PKCS7.new(der) # LEAK
    unless message.verify([CERTIFICATE], STORE, nil, OpenSSL::PKCS7::NOVERIFY) # LEAK
      @refused += 1
      return
    end
    @receipts[partner.name] += message.data.count("\n")
    @disputable[partner.name][number] = message # LEAK KEEPER
  end

  def confirm(partner, number) = @disputable[partner.name].delete(number)
end

# The partners sign an order of each of 24 shops in advance, about 180 KB.
ORDERS = Array.new(24) do |shop|
  text = Array.new(1_400) { |i| "article #{shop * i % 9_000};#{i * 31 % 97} pieces;shop #{shop};#{"please deliver to the door behind the house " * 2}\n" }.join
  OpenSSL::PKCS7.sign(CERTIFICATE, KEY, text, [], OpenSSL::PKCS7::BINARY).to_der.freeze
end
PARTNERS = Array.new(12) { |i| Partner.new("partner #{i}", ![3, 8].include?(i)) }
HUB = Hub.new

Load.run(48) do |n|
  partner = PARTNERS[n % 12]
  HUB.take(partner, n, ORDERS[n * 7 % 24]) # LEAK
  HUB.confirm(partner, n) if partner.confirms
end
