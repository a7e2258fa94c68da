# frozen_string_literal: true

# A shop: what each request keeps is counted by the controller that made it, see ../test_rails.rb.
require "rails"
require "action_controller/railtie"
require "active_job/railtie"
require "heapsample/rails"
require "heapsample/web"

class Order; end
class User; end
class Report; end
class Middle; end
KEPT = []

class Shop < Rails::Application
  config.load_defaults 8.1
  config.root = ENV.fetch("SHOP_TMP")
  config.eager_load = true
  config.enable_reloading = false
  config.secret_key_base = "of no use: there are no sessions"
  config.hosts.clear
  config.active_job.queue_adapter = :async
  config.logger = ActiveSupport::Logger.new($stderr, level: :warn)
end

class OrdersController < ActionController::Base
  def index
    20.times { KEPT << Order.new }
    Thread.new { 5.times { KEPT << Order.new } }.join
    render plain: "orders"
  end

  # A job within a request, and what the request does after it.
  def report
    ReportJob.perform_now
    10.times { KEPT << Order.new }
    render plain: "report"
  end

  def broken
    3.times { KEPT << Order.new }
    raise "broken"
  end
end

module Admin
  class UsersController < ActionController::API
    def show
      7.times { KEPT << User.new }
      render json: {}
    end
  end
end

class ReportJob < ActiveJob::Base
  queue_as :slow

  def perform
    11.times { KEPT << Report.new }
  end
end

# Not of a controller, and behind one in the same thread.
class Outside
  def initialize(app) = @app = app

  def call(env)
    return @app.call(env) unless env["PATH_INFO"] == "/outside"

    2.times { KEPT << Middle.new }
    [200, {"content-type" => "text/plain"}, ["outside #{GC::SampleProfile.labels.except(:deploy)}"]]
  end
end

Shop.config.middleware.insert_before 0, Outside
Shop.initialize!
Shop.routes.draw do
  get "/orders" => "orders#index"
  get "/report" => "orders#report"
  get "/broken" => "orders#broken"
  get "/admin/users" => "admin/users#show"
  mount HeapSample::Web => "/heap"
end
GC::SampleProfile.start(interval: Integer(ENV.fetch("INTERVAL")), max_samples: nil)
run Shop
