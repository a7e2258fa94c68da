# A web application with the traffic of a day, here of eighty seconds: next to nothing at night, a peak at noon. It keeps
# nothing, but more requests are under way at noon.
#
# kind: steady
# tuned: yes
# also: bloat
# gems: rack 3.1.12
# seconds: 121
require_relative "../load"
require "rack"

UNDER_WAY = []
shop = lambda do |env|
  body = Array.new(80) { |i| "<li>#{env["PATH_INFO"]} #{i}</li>" }
  UNDER_WAY << [Load.seconds + 3, env, body] # a slow client reads for three seconds
  UNDER_WAY.shift while UNDER_WAY.any? && UNDER_WAY.first[0] < Load.seconds
  [200, {}, body]
end

HTTP = Rack::MockRequest.new(shop)
DAY = ->(second) { 100 * (1 - Math.cos(second * 2 * Math::PI / 80)) + 2 }
Load.run(DAY) { |n| HTTP.get("/orders/#{n}").body.size }
