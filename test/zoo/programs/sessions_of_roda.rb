# Healthy: a Roda application with its sessions in memory. A visitor comes for two seconds and never again; a thread drops
# sessions after ten seconds without a request. After 47 seconds a table of the VM doubles, half a megabyte.
#
# kind: steady
# also: bloat
# settles: 13
# gems: roda 3.109.0, rack 3.1.12
require_relative "../load"
require "rack"
require "rack/mock"
require "roda"

SESSIONS = {}
LOCK = Mutex.new
Thread.new { loop { sleep 2; LOCK.synchronize { SESSIONS.delete_if { |_, session| session[:at] < Load.seconds - 10 } } } }

class Shop < Roda
  route do |r|
    session = LOCK.synchronize { SESSIONS[r.params["sid"]] ||= { seen: [], cart: Array.new(60) { |i| "place #{i} of #{r.params["sid"]}" } } }
    session[:at] = Load.seconds

    r.get "orders", Integer do |id|
      session[:seen] << "order #{id} of #{r.params["sid"]}"
      session[:seen].map { |line| "<li>#{line}</li>" }.join
    end
  end
end

HTTP = Rack::MockRequest.new(Shop.app)
Load.run(160) { |n| HTTP.get("/orders/#{n}?sid=visitor-#{n / 160 * 40 + n % 40}") }
