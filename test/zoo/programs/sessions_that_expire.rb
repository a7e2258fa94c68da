# A web application keeps a session for each visitor for six seconds after its last request; a sweeper drops the old
# ones.
#
# kind: steady
# tuned: yes
# also: bloat
require_relative "../load"
SESSIONS = {}
LOCK = Mutex.new
Thread.new { loop { sleep 1; LOCK.synchronize { SESSIONS.delete_if { |_, session| session[:seen] < Load.seconds - 6 } } } }
def visit(id)
  LOCK.synchronize do
    session = (SESSIONS[id] ||= { user: "user-#{id}", cart: Array.new(6) { |i| { sku: "sku-#{id}-#{i}", price: i * 1.5 } } })
    session[:seen] = Load.seconds
  end
  Array.new(40) { |i| "<td>#{id}-#{i}</td>" }.join
end
Load.run(300) { |n| visit(n / 3) }
