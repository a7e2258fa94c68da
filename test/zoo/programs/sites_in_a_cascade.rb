# A host of small shops serves all of them through one Rack::Cascade. Whenever a shop is published again, its application is added to the
# cascade with its pages; the one before stays there, behind a flag that says that it is retired. The catalogue is loaded at the start.
#
# kind: leak
# keeper: @apps, rack/cascade
# gems: rack 3.2.8
# starts: 6
# rate: 860000
require_relative "../load"
require "rack"

PRODUCTS = {}
CATALOGUE_SIZE = 900_000
CATALOGUE_SIZE.times do |i|
  PRODUCTS["sku-#{i}"] = { title: "Product #{i} in the series #{i % 60}, second edition", text: "#{i % 90} parts, made of #{%w[oak steel wool glass][i % 4]}, and #{i % 9} years of guarantee" }
end

class Shop
  attr_accessor :retired

  def initialize(shop, version)
    @prefix = "/shop-#{shop}/"
    @pages = Array.new(40) do |i| # LEAK
      product = PRODUCTS["sku-#{((shop * 4_000) + (version * 13) + i) % CATALOGUE_SIZE}"]
      "<html><title>shop #{shop}, version #{version}</title>#{"<p>#{product[:title]}: #{product[:text]}</p>" * 38}</html>" # LEAK
    end
  end

  def call(env)
    path = env["PATH_INFO"]
    return [404, {}, []] if retired || !path.start_with?(@prefix)

    [200, { "content-type" => "text/html" }, [@pages[path[/\d+\z/].to_i % 40]]]
  end
end

FRONT = Rack::Cascade.new([])
SHOPS = {}

def publish(shop, version)
  SHOPS[shop]&.retired = true
  published = SHOPS[shop] = Shop.new(shop, version) # LEAK
  FRONT.add(published) # KEEPER
end

Load.run(800) do |n|
  publish(n < 30 ? n : (n / 200) % 30, n) if n % 200 == 0 || n < 30 # LEAK
  request = Rack::Request.new(Rack::MockRequest.env_for("/shop-#{n % 30}/#{n % 40}", "HTTP_COOKIE" => "cart=#{n}; seen=#{n * 3}"))
  status, _, body = FRONT.call(request.env.merge("cookies" => request.cookies))
  body.join.gsub(/<p>Product (\d+)/) { "<p><a href='/p/#{Regexp.last_match(1)}'>product</a>" }.size if status == 200
end
