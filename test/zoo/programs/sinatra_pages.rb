# A Sinatra application renders pages with ERB and sessions in cookies: nothing is kept between requests.
#
# kind: steady
# tuned: yes
# gems: rack 2.2.9, sinatra 2.2.0
require_relative "../load"
require "logger"
require "sinatra/base"
require "rack/mock"

class App < Sinatra::Base
  set :environment, :production
  set :host_authorization, permitted_hosts: []
  enable :sessions
  set :session_secret, "s" * 64

  get "/orders/:id" do
    session[:last] = params[:id]
    erb "<h1><%= params[:id] %></h1><% 30.times do |i| %><li><%= i %></li><% end %>"
  end
end

HTTP = Rack::MockRequest.new(App)
Load.run(40) { |n| HTTP.get("/orders/#{n}").body.size }
