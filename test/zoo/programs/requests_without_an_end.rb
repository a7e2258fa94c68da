# An application measures its requests by Rack::Events. The handler has the start of each request that is under way in
# a Hash, and deletes it when the body of the response is closed. The server does not close the body of an answer to
# HEAD, so these requests stay in the Hash.
#
# kind: leak
# keeper: @started, TIMINGS, Timings
# gems: rack 3.1.12
# rate: 1130000
require_relative "../load"
require "rack"
require "rack/events"

class Timings
  include Rack::Events::Abstract

  def initialize
    @started = {}.compare_by_identity
    @times = Hash.new(0.0)
  end

  def on_start(request, _response) = @started[request] = Load.seconds # LEAK KEEPER

  def on_finish(request, _response)
    started = @started.delete(request)
    @times[request.path_info] += Load.seconds - started
  end

  def slowest = @times.max_by(5) { |_, time| time }
end

class Shop
  def call(env)
    env["shop.visitor"] = visitor(env["HTTP_COOKIE"]) # LEAK
    env["shop.articles"] = Array.new(60) { |i| "article #{i}, for #{env["QUERY_STRING"]}, in stock: #{i * 7 % 90}; #{"sent tomorrow " * 6}" } # LEAK
    text = env["shop.articles"].map(&:capitalize).join("\n")
    [200, { "content-type" => "text/plain" }, [text]]
  end

  private

  def visitor(cookie) = Array.new(40) { |i| ["setting #{i}", "#{cookie} #{i}"] }.to_h # LEAK
end

TIMINGS = Timings.new
APPLICATION = Rack::Builder.app do
  use Rack::Events, [TIMINGS]
  run Shop.new
end

def environment(number)
  Rack::MockRequest.env_for("http://shop.example/articles/#{number % 50}?q=#{number}", # LEAK
                            method: number % 3 == 0 ? "HEAD" : "GET", "HTTP_COOKIE" => "visitor=#{number};basket=#{number * 7_919}")
end

Load.run(200) do |n|
  env = environment(n) # LEAK
  _status, _headers, body = APPLICATION.call(env) # LEAK
  next if env["REQUEST_METHOD"] == "HEAD"

  body.each(&:bytesize)
  body.close
  TIMINGS.slowest if n % 50 == 0
end
