require_relative "boot"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"

class TicketShop < Rails::Application
  config.load_defaults 8.1
  config.eager_load = true
  config.enable_reloading = false
  config.secret_key_base = "of no use: this application has no sessions"
  config.log_level = :warn
  config.logger = ActiveSupport::Logger.new($stderr)
  config.active_record.dump_schema_after_migration = false
  # Generated files stay out of the source tree.
  config.paths["tmp"] = ENV.fetch("SHOP_TMP", "tmp")
  config.paths["log"] = File.join(ENV.fetch("SHOP_TMP", "tmp"), "production.log")
end
