# A client makes a Faraday connection for each token, to reuse it, and tokens are renewed all the time. A connection has its
# middleware, its headers and its options.
#
# kind: leak
# line: faraday
# keeper: @connections
# gems: faraday 2.15.1
# rate: 11000
require_relative "../load"
require "faraday"

class Client
  STUBS = Faraday::Adapter::Test::Stubs.new { |stubs| stubs.get(/orders/) { |env| [200, {}, "answer to #{env.url}"] } }

  def initialize = @connections = {}

  def get(path, token)
    connection = @connections[token] ||= # KEEPER
      Faraday.new("https://example.org", headers: { "Authorization" => "Bearer #{token}" }) { |faraday| faraday.adapter(:test, STUBS) } # LEAK KEEPER
    connection.get(path).body.size # LEAK
  end
end

CLIENT = Client.new
Load.run(20) { |n| CLIENT.get("/orders/#{n}", "token-#{n / 4}") } # LEAK
