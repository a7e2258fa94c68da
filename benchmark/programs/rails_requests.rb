# N requests of a small Rails application, without a server: what labels add to one (benchmark/labels.rb).
# Usage: ruby rails_requests.rb N [labels]      with Bundler's setup
require "rails"
require "action_controller/railtie"
require "rack/mock_request"
require "tmpdir"
require "heap_sample/rails" if ARGV[1] == "labels"

class Shop < Rails::Application
  config.load_defaults 8.1
  config.root = Dir.mktmpdir
  config.eager_load = true
  config.enable_reloading = false
  config.secret_key_base = "of no use: there are no sessions"
  config.hosts.clear
  config.logger = ActiveSupport::Logger.new(IO::NULL, level: :error)
end

class OrdersController < ActionController::Base
  def index = render(plain: Array.new(20) { |i| "order #{i}" }.join(", "))
end

Shop.initialize!
Shop.routes.draw { get "/orders" => "orders#index" }
request = ->(*) { Shop.call(Rack::MockRequest.env_for("/orders", "HTTP_HOST" => "localhost")).last.tap { |body| body.each {} }.close }
50.times(&request)
GC.start
GC.disable
# callgrind counts what runs within this method alone.
GC::SampleProfile.with_labels { Integer(ARGV.fetch(0)).times(&request) }
