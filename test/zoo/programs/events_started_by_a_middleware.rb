# A middleware announces each request to the subscribers of its event (ActiveSupport::Notifications): it starts the
# event, calls the app, and finishes the event. The app answers requests of a blocked address by throw, which passes by
# the line that finishes. What was started stays on the stack of the thread that serves the requests.
#
# kind: leak
# line: active_support/notifications, rack/
# keeper: _fanout_handle_stack, active_support_execution_state, notifications/fanout, isolated_execution_state, Thread
# gems: activesupport 7.2.2.1, rack 3.1.12
# rate: 1630000
require_relative "../load"
require "stringio"
require "rack"
require "active_support"
require "active_support/notifications"

class Announcing
  def initialize(app) = @app = app

  def call(env)
    announcer = ActiveSupport::Notifications.instrumenter
    payload = { path: env["PATH_INFO"], form: Rack::Request.new(env).POST, env: env } # LEAK
    announcer.start("request.shop", payload) # LEAK KEEPER
    status, headers, body = @app.call(env)
    payload[:status] = status
    announcer.finish("request.shop", payload)
    [status, headers, body]
  end
end

class Shop
  BLOCKED = (0...64).to_h { |i| ["192.0.2.#{i * 4}", true] }.freeze

  def call(env)
    throw :answer, [403, {}, []] if BLOCKED[env["REMOTE_ADDR"]]

    [200, { "content-type" => "text/html" }, ["<p>Thank you for #{env["PATH_INFO"]}</p>"]]
  end
end

class Server
  attr_reader :answers

  def initialize(app)
    @app = app
    @queue = Thread::Queue.new
    @answers = Hash.new(0)
    @thread = Thread.new { loop { serve(@queue.pop) } } # LEAK
  end

  def take(env) = @queue << env

  private

  def serve(env)
    status, = catch(:answer) { @app.call(env) } # LEAK
    @answers[status] += 1
  end
end

# A form of an order, about 20 KB.
def env(number)
  form = Array.new(24) { |i| "line#{i}=article-#{number * (i + 3) % 9_000}-#{"please-pack-it-in-paper-and-put-it-at-the-door-" * 16}#{i * number % 97}" }.join("&") # LEAK
  { "REQUEST_METHOD" => "POST", "PATH_INFO" => "/orders/#{number}", "REMOTE_ADDR" => "192.0.2.#{number * 31 % 256}", "QUERY_STRING" => "", # LEAK
    "CONTENT_TYPE" => "application/x-www-form-urlencoded", "CONTENT_LENGTH" => form.bytesize.to_s, "rack.input" => StringIO.new(form) } # LEAK
end

times = Hash.new(0)
ActiveSupport::Notifications.subscribe("request.shop") { |_, started, finished, _, payload| times[payload[:status]] += finished - started }
SERVER = Server.new(Announcing.new(Shop.new))

Load.run(160) { |n| SERVER.take(env(n)) } # LEAK
