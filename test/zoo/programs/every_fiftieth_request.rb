# Every fiftieth request fails, and the exception, with its backtrace and the request that it refers to, is put into a list for a
# page of errors that shows the last twenty.
#
# kind: leak
# rate: 31000
# gems: rack 3.1.12
require_relative "../load"
require "rack"
require "rack/mock"

class Refused < StandardError
  def initialize(message, env)
    super(message)
    @env = env
  end
end

class App
  ERRORS = []

  def call(env)
    rows = Array.new(50) { |i| "row #{i} of #{env["PATH_INFO"]}" } # LEAK
    env["shop.rows"] = rows
    raise Refused.new("no stock for #{env["PATH_INFO"]}", env) if env["PATH_INFO"].hash % 50 == 0 # LEAK

    [200, {}, [rows.join]]
  rescue Refused => e
    ERRORS << e # KEEPER
    [503, {}, ERRORS.last(20).map(&:message)]
  end
end

HTTP = Rack::MockRequest.new(App.new)
Load.run(250) { |n| HTTP.get("/orders/#{n}") } # LEAK
