# Healthy: rack-attack counts requests of each address in Active Support's MemoryStore of 1.5 MB. The counters expire after ten
# seconds but are only deleted when the store is full and prunes itself, and there are ever new addresses.
#
# kind: steady
# also: bloat
# settles: 21
# gems: activesupport 8.0.2, rack 3.1.12, rack-attack 6.8.0
require_relative "../load"
require "active_support"
require "active_support/cache"
require "rack"
require "rack/mock"
require "rack/attack"

Rack::Attack.cache.store = ActiveSupport::Cache::MemoryStore.new(size: 1_500_000)
Rack::Attack.throttle("requests by address", limit: 100, period: 10, &:ip)
APP = Rack::Builder.new do
  use Rack::Attack
  run ->(env) { [200, {}, [Array.new(20) { |i| "<li>#{env["PATH_INFO"]} #{i}</li>" }.join]] }
end.to_app

Load.run(220) { |n| APP.call(Rack::MockRequest.env_for("/orders/#{n}", "REMOTE_ADDR" => "10.#{n / 62_500 % 250}.#{n / 250 % 250}.#{n % 250}")) }
