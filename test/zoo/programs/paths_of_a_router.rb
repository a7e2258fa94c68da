# A shop has one route with a variable in it. Hanami's router 3.0 keeps the parts of each path that it is asked for in a Hash,
# without end, so that each new article, and each path that a robot invents, stays.
#
# kind: leak
# tuned: yes
# line: hanami/router/trie.rb
# keeper: hanami/router/trie.rb, @segments_map
# gems: hanami-router 3.0.0
require_relative "../load"
require "hanami/router"
require "rack"
require "rack/mock"

ROUTER = Hanami::Router.new
ROUTER.get("/shops/:name/articles/:number", to: ->(env) { [200, {}, ["article #{env["router.params"][:number]}"]] })

Load.run(300) { |n| ROUTER.call(Rack::MockRequest.env_for("/shops/tenant-#{n % 40}/articles/#{n}-of-the-summer-sale-#{n % 7}")) } # LEAK
