# Each session has a cipher and a digest of OpenSSL, which are kept in a table when the session ends. Most of the memory is malloc'ed by
# OpenSSL.
#
# kind: native
# also: leak
# line: openssl
# keeper: KEYS
# rate: 180000
require_relative "../load"
require "openssl"

KEYS = {}

def session(number)
  cipher = OpenSSL::Cipher.new("aes-256-gcm").encrypt # LEAK
  cipher.key = number.to_s.rjust(32, "k") # LEAK
  cipher.iv = "i" * 12 # LEAK
  digest = OpenSSL::Digest.new("SHA512") # LEAK
  KEYS[number] = [cipher, digest] # LEAK KEEPER
  cipher.update("hello #{number}").bytesize
end

Load.run(100) do |n|
  session(n) # LEAK
  Array.new(40) { |i| "<li>#{n} #{i}</li>" }.join
end
