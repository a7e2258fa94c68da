# A Roda application on Puma with two workers: a debug page shows the last requests, and a request is put into the list by each route,
# with its env. Only the debug page shortens the list, and nothing asks for it.
#
# kind: leak
# keeper: RECENT
# line: puma/, roda, rack/
# gems: roda 3.109.0, rack 3.1.12, puma 6.6.0
# rate: 110000
require_relative "../load"
require "rack"
require "roda"
require_relative "../puma"

class Shop < Roda
  RECENT = []

  route do |r|
    r.get("debug") { RECENT.shift(RECENT.size - 20).size.to_s }

    r.get "orders", Integer do |id|
      lines = Array.new(10) { |i| "line #{i} of order #{id}" } # LEAK
      RECENT << { path: r.path, env: env.select { |key, _| key.start_with?("HTTP_", "REQUEST_") }, lines: lines } # LEAK KEEPER
      lines.join
    end
  end
end

PumaServer.run(Shop.freeze.app, workers: 2, per_second: 60)
