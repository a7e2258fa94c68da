# frozen_string_literal: true

# Enqueues jobs for the Sidekiq that is running, and reads the profile that the last one saves.
# Usage: ruby jobs.rb FILE
require_relative "app/jobs"
require "sidekiq/api"
require "heapsample"
require_relative "counts"

file = ARGV.fetch(0)
ImportJob.perform_async(30)
ImportJob.perform_async(4)
MailJob.perform_later(12)
waited = 0
sleep(0.2) until (waited += 1) > 900 || (Sidekiq::Stats.new.processed >= 3 && Sidekiq::WorkSet.new.size.zero?)
SaveJob.perform_async(file)
900.times { File.exist?(file) ? break : sleep(0.2) }
profile = HeapSample::Profile.load(file)
check("a job of Sidekiq", {{"job" => "ImportJob", "queue" => "low"} => 34}, counts(profile, "Line", "job", "queue"))
check("a job of ActiveJob", {{"job" => "MailJob", "queue" => "mailers"} => 12}, counts(profile, "Page", "job", "queue"))
