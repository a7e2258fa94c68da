# A Rack application on Puma with two workers and a master that waits. Each worker keeps, for each order that was looked at,
# its lines in a class variable.
#
# kind: leak
# tuned: yes
# keeper: @@seen
# gems: rack 3.1.12, puma 6.6.0
require_relative "../load"
require "rack"
require_relative "../puma"

class Shop
  @@seen = {}

  def call(env)
    number = env["PATH_INFO"][/\d+/].to_i
    lines = Array.new(40) { |i| "line #{i} of order #{number}" } # LEAK
    @@seen[number] = lines # KEEPER
    [200, { "content-type" => "text/html" }, [lines.map { |line| "<li>#{line}</li>" }.join]]
  end
end

PumaServer.run(Shop.new, workers: 2, per_second: 150)
