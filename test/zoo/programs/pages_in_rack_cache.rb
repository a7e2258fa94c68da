# Rack::Cache before an application, with its stores on the heap: nothing there is ever thrown away, neither when it is too old nor when
# there is much. Links from newsletters have a token in them, so that each is a new page.
#
# kind: leak
# tuned: yes
# line: rack/cache/
# keeper: rack/cache/meta_store.rb, rack/cache/entity_store.rb, rack/cache/storage.rb, @hash, @metastores, @entitystores
# gems: rack 3.1.12, rack-cache 1.17.0
require_relative "../load"
require "rack"
require "rack/mock_request"
require "rack/cache"

class News
  def call(env)
    items = Array.new(25) { |i| "<li>item #{i} for #{env["QUERY_STRING"]}</li>" } # LEAK
    [200, { "content-type" => "text/html", "cache-control" => "public, max-age=5" }, ["<ul>#{items.join}</ul>"]] # LEAK
  end
end

APP = Rack::Cache.new(News.new, metastore: "heap:/", entitystore: "heap:/", verbose: false)

Load.run(40) do |n|
  _status, _headers, body = APP.call(Rack::MockRequest.env_for("http://news.example/today?token=#{n}")) # LEAK
  body.each(&:size)
  body.close if body.respond_to?(:close)
end
