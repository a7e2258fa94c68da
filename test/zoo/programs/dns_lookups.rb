# dnsruby 1.73.1 keeps each socket by which it asked a name server as a key of class variables of its SelectThread
# (alexdalitz/dnsruby#219). 1.74.0 does not.
#
# kind: leak
# tuned: yes
# line: dnsruby/
# keeper: dnsruby/select_thread.rb, @@socket_hash, @@socket_remaining_queries, @@socket_is_persistent, @@tcp_buffers
# gems: dnsruby 1.73.1
# mended: dnsruby 1.74.0
require_relative "../load"
require "socket"
require "dnsruby"

SERVER = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) } # answers that there is no such name

Thread.new do
  loop do
    query, from = SERVER.recvfrom(512)
    SERVER.send(query[0, 2] + "\x81\x83".b + query[4, 2] + "\0".b * 6 + query[12..].split("\0".b, 2).first + "\0\0\1\0\1".b, 0, from[3], from[1])
  end
end

RESOLVER = Dnsruby::Resolver.new(nameserver: "127.0.0.1", port: SERVER.addr[1], do_caching: false, dnssec: false)

def resolve(name)
  RESOLVER.query(name) # LEAK
rescue Dnsruby::NXDomain
  nil
end

Load.run(250) { |n| resolve("host#{n}.example.com") }
