# A Rails application as small as one can be and still do what applications do: routes, a controller, Active Record,
# templates, JSON. Beside it /figures, where a worker says what it has come to.
require "bundler/setup"
require "rails/all"

class Shop < Rails::Application
  config.root = __dir__
  config.load_defaults 8.1
  config.eager_load = true
  config.enable_reloading = false
  config.consider_all_requests_local = false
  config.secret_key_base = "0" * 64
  config.logger = ActiveSupport::Logger.new(File::NULL)
  config.log_level = :info
  config.hosts.clear
  config.active_storage.service = :disk
  config.active_storage.service_configurations = { disk: { service: "Disk", root: ENV.fetch("BENCH_TMP") } }
  config.cache_store = :memory_store
  config.paths["config/database"] = File.join(__dir__, "database.yml")
  config.paths["tmp"] = ENV.fetch("BENCH_TMP")
  routes.append do
    resources :posts, only: %i[index show]
    get "figures", to: "figures#show"
  end
end

Shop.initialize!

class Post < ActiveRecord::Base
  has_many :comments
end

class Comment < ActiveRecord::Base
  belongs_to :post
end

class PostsController < ActionController::Base
  after_action { response.headers["x-worker"] = Process.pid.to_s }

  def index
    @posts = Post.includes(:comments).order(:id).limit(30)
  end

  def show
    post = Post.includes(:comments).find(params[:id])
    render json: { post:, comments: post.comments }
  end
end

class FiguresController < ActionController::Base
  def show
    gc = GC.stat
    sampler = defined?(GC::SampleProfile) ? GC::SampleProfile.stat : {}
    response.headers["x-worker"] = Process.pid.to_s
    render json: { gc: gc[:count], minor: gc[:minor_gc_count], major: gc[:major_gc_count],
                   pages: gc[:heap_allocated_pages], own: sampler[:running] ? sampler[:bytes] : 0 }
  end
end

unless ActiveRecord::Base.connection.table_exists?("posts")
  ActiveRecord::Schema.verbose = false
  ActiveRecord::Schema.define do
    create_table(:posts) { |t| t.string(:title); t.text(:body); t.timestamps }
    create_table(:comments) { |t| t.references(:post); t.string(:author); t.text(:body); t.timestamps }
  end
  60.times do |i|
    post = Post.create!(title: "Post <#{i}>", body: "words " * 40)
    8.times { |n| post.comments.create!(author: "author #{n}", body: "comment #{n} of post #{i}") }
  end
end
run Shop
