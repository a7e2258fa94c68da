# N requests of a small Rails application, without a server: what labels add to one (benchmark/labels.rb).
# Usage: ruby rails_requests.rb N text|page [labels] [yjit]      with Bundler's setup, and Active Record's sqlite3
#   text   one line of text
#   page   an ERB page: three queries, 20 orders with their customers, a partial each, a layout
require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "rack/mock_request"
require "tmpdir"
require "fiddle"
require "heapsample/rails"

ROOT = Dir.mktmpdir
{
  "app/views/layouts/application.html.erb" => "<!DOCTYPE html><html><head><title><%= @title %></title></head><body><%= yield %></body></html>",
  "app/views/orders/page.html.erb" => "<h1><%= @title %></h1><table><%= render @orders %></table><p><%= link_to 'older', '/page?before=1' %></p>",
  "app/views/orders/_order.html.erb" => "<tr><td><%= link_to order.number, order.number %></td><td><%= order.customer.name %></td><td><%= number_to_currency(order.cents / 100.0) %></td></tr>\n",
}.each do |path, text|
  FileUtils.mkdir_p(File.dirname("#{ROOT}/#{path}"))
  File.write("#{ROOT}/#{path}", text)
end

class Shop < Rails::Application
  config.load_defaults 8.1
  config.root = ROOT
  config.eager_load = true
  config.enable_reloading = false
  config.secret_key_base = "of no use: there are no sessions"
  config.hosts.clear
  config.yjit = ARGV.include?("yjit")     # Rails switches it on by itself
  config.logger = ActiveSupport::Logger.new(IO::NULL, level: :error)
end
Shop.config.paths["config/database"] = File.join(ROOT, "database.yml").tap { |path| File.write(path, "production: {adapter: sqlite3, database: #{ROOT}/shop.sqlite3}\n") }

class OrdersController < ActionController::Base
  def text = render(plain: Array.new(20) { |i| "order #{i}" }.join(", "))

  def page
    @title = "#{Order.count} orders"
    @orders = Order.includes(:customer).order(id: :desc).limit(20).to_a
  end
end

Shop.initialize!
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:customers) { |t| t.string :name }
  create_table(:orders) { |t| t.references(:customer) && t.string(:number) && t.integer(:cents) }
end
class Customer < ActiveRecord::Base; end

class Order < ActiveRecord::Base
  belongs_to :customer
end
100.times { |i| Order.create!(number: "N#{i}", cents: 100 * i, customer: Customer.create!(name: "customer #{i % 7}")) }

path = "/#{ARGV.fetch(1)}"
Shop.routes.draw { %w[text page].each { |name| get "/#{name}" => "orders##{name}" } }
request = lambda do |*|
  status, _, body = Shop.call(Rack::MockRequest.env_for(path, "HTTP_HOST" => "localhost"))
  abort "status #{status}" unless status == 200
  body.each {}
  body.close
end
300.times(&request)
# Without labels it is the same process with all it has loaded: where objects lie moves counts by 0.1%.
HeapSample::Railtie::Dispatch.remove_method(:dispatch) unless ARGV.include?("labels")
700.times(&request)
GC.start
GC.disable
# callgrind counts what runs within this method alone.
Fiddle::Function.new(Fiddle::Handle::DEFAULT["steady_count"], [], Fiddle::TYPE_VOID).call
GC::SampleProfile.with_labels { Integer(ARGV.fetch(0)).times(&request) }
