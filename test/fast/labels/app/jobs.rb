# frozen_string_literal: true

# What Sidekiq runs: see ../test_sidekiq.rb.
require "sidekiq"
require "active_job"
require "heapsample/sidekiq"
require "heapsample/active_job"

Sidekiq.configure_server do |config|
  config.redis = {url: ENV.fetch("REDIS_URL")}
  GC::SampleProfile.start(interval: Integer(ENV.fetch("INTERVAL")), max_samples: nil)
end
Sidekiq.configure_client { |config| config.redis = {url: ENV.fetch("REDIS_URL")} }
Sidekiq.strict_args!(false)
ActiveJob::Base.queue_adapter = :sidekiq

class Line; end
class Page; end
KEPT = []

class ImportJob
  include Sidekiq::Job
  sidekiq_options queue: "low", retry: false

  def perform(count)
    count.times { KEPT << Line.new }
    raise "after #{count}" if count == 4
  end
end

class MailJob < ActiveJob::Base
  queue_as :mailers

  def perform(count)
    count.times { KEPT << Page.new }
  end
end

# The last one writes what there is.
class SaveJob
  include Sidekiq::Job
  sidekiq_options queue: "last", retry: false

  def perform(path)
    GC.sample_profile(full_gc: true).save("#{path}.part.pb.gz")
    File.rename("#{path}.part.pb.gz", path)
  end
end
