# A Rack application on Puma with two workers that renders pages and keeps nothing.
#
# kind: steady
# tuned: yes
# gems: rack 3.1.12, puma 6.6.0
require_relative "../load"
require "rack"
require_relative "../puma"

class Shop
  def call(env)
    number = env["PATH_INFO"][/\d+/].to_i
    [200, { "content-type" => "text/html" }, Array.new(80) { |i| "<li>line #{i} of order #{number}</li>" }]
  end
end

PumaServer.run(Shop.new, workers: 2, per_second: 100)
