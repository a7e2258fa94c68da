# A server keeps a Zlib::Deflate for each connection and forgets to close it when the client is gone.
#
# kind: native
# tuned: yes
# also: leak
require_relative "../load"
require "zlib"
CONNECTIONS = {}
def open(id) = CONNECTIONS[id] = Zlib::Deflate.new # LEAK KEEPER
Load.run(8) do |n|
  open(n).deflate("hello #{n}" * 50, Zlib::SYNC_FLUSH) # LEAK
end
