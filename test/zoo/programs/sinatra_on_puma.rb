# Healthy: a Sinatra application on Puma with two workers, which renders ERB with a layout and keeps the 600 last orders of each
# worker in an LRU cache.
#
# kind: steady
# also: bloat
# settles: 17
# gems: sinatra 4.2.1, puma 6.6.0, rack 3.1.12
require_relative "../load"
require "sinatra/base"
require_relative "../puma"

class Shop < Sinatra::Base
  set :environment, :production
  set :host_authorization, permitted_hosts: []
  set :server, :puma
  set :run, false
  ORDERS = {}
  LOCK = Mutex.new

  get "/orders/:id" do
    @order = LOCK.synchronize do
      ORDERS.shift if ORDERS.size > 600
      ORDERS[params[:id]] ||= Array.new(40) { |i| "line #{i} of order #{params[:id]}" }
    end
    erb "<ul><% @order.each do |line| %><li><%= line %></li><% end %></ul>", layout: "<html><%= yield %></html>"
  end
end

PumaServer.run(Shop, workers: 2, per_second: 80)
