# sinatra 2.1.0 caches a template that is given as a block under a key with the block itself: each request leaves a
# template, its Proc and through its binding the whole request (sinatra/sinatra#1714). 2.2.0 does not.
#
# kind: leak
# tuned: yes
# line: sinatra/base.rb, tilt/template.rb, tilt/builder.rb, sinatra-2, tilt-, rack/
# keeper: sinatra/base.rb, tilt/cache.rb, tilt.rb, @cache
# gems: rack 2.2.9, sinatra 2.1.0, builder 3.3.0
# mended: sinatra 2.2.0
require_relative "../load"
require "logger"
require "sinatra/base"
require "builder"
require "rack/mock"

class App < Sinatra::Base
  set :environment, :production
  set :host_authorization, permitted_hosts: []

  get "/feed/:id" do
    builder { |xml| xml.feed { xml.title "Feed #{params[:id]}" } } # LEAK KEEPER
  end
end

HTTP = Rack::MockRequest.new(App)
Load.run(60) { |n| HTTP.get("/feed/#{n}").body.size } # LEAK
