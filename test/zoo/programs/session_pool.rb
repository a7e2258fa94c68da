# Rack::Session::Pool keeps the session of each visitor in memory and never drops one: robots have no cookie, so that each
# of their requests is a new session.
#
# kind: leak
# tuned: yes
# line: rack/session
# keeper: rack/session/pool.rb, rack/session/abstract, @pool
# gems: rack 3.1.12, rack-session 2.1.2
require_relative "../load"
require "rack"
require "rack/session"

shop = lambda do |env|
  session = env["rack.session"]
  session["cart"] = Array.new(8) { |i| "article #{i}" } # LEAK
  session["seen_at"] = Time.now.to_s # LEAK
  [200, { "content-type" => "text/html" }, ["<p>#{session["cart"].join("</p><p>")}</p>"]]
end

HTTP = Rack::MockRequest.new(Rack::Session::Pool.new(shop))
Load.run(300) { |n| HTTP.get("/?page=#{n}").body.size } # LEAK
