# A middleware pushes tags on Active Support's tagged logger and does not pop them after the request. Nobody sees it in the log,
# since only warnings are written.
#
# kind: leak
# tuned: yes
# line: active_support/tagged_logging
# keeper: tagged_logging, @tags of ActiveSupport::TaggedLogging::TagStack
# gems: activesupport 8.0.2
require_relative "../load"
require "logger"
require "active_support"
require "active_support/tagged_logging"

LOG = ActiveSupport::TaggedLogging.new(Logger.new(File::NULL, level: :warn))

class RequestTags
  def initialize(app) = @app = app

  def call(env)
    LOG.push_tags("request #{env["id"]}", "from #{env["address"]} by #{env["agent"]} #{"with much to say " * 8}") # LEAK KEEPER
    @app.call(env)
  end
end

shop = lambda do |env|
  LOG.info("asked for #{env["path"]}")
  [200, {}, Array.new(80) { |i| "<li>#{env["path"]} #{i}</li>" }]
end

APP = RequestTags.new(shop)
Load.run(300) { |n| APP.call("id" => "#{n}-#{n * 7919 % 104_729}", "address" => "10.0.#{n % 250}.7", "agent" => "browser #{n % 40}", "path" => "/orders/#{n % 900}") }
