# A shop adds a route to Hanami's router for each new tenant; nothing takes one out again.
#
# kind: leak
# tuned: yes
# line: hanami/, mustermann/
# keeper: hanami/, @children, @variable, @fixed, @path_prefix, @globs, @trie, @named, mustermann
# gems: hanami-router 3.0.0
require_relative "../load"
require "hanami/router"
require "rack"
require "rack/mock"

Tenant = Data.define(:name, :articles) do
  def call(_env) = [200, {}, [articles.join(", ")]]
end

ROUTER = Hanami::Router.new

def open(number)
  ROUTER.get("/shops/tenant-#{number}/articles", to: Tenant.new("tenant-#{number}", Array.new(20) { |i| "article #{i} of #{number}" })) # LEAK KEEPER
end

def visit(number) = ROUTER.call(Rack::MockRequest.env_for("/shops/tenant-#{number}/articles")).last.join.size

Load.run(120) do |n|
  open(n) # LEAK
  visit(n)
end
