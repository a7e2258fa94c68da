# frozen_string_literal: true

# Enqueues jobs for the Sidekiq that is running; the last one saves the profile.
# Usage: ruby enqueue.rb FILE
require_relative "jobs"
require "sidekiq/api"

ImportJob.perform_async(30)
ImportJob.perform_async(4)
MailJob.perform_later(12)
900.times { Sidekiq::Stats.new.processed >= 3 && Sidekiq::WorkSet.new.size.zero? ? break : sleep(0.2) }
SaveJob.perform_async(ARGV.fetch(0))
