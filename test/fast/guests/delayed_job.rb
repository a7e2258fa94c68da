# frozen_string_literal: true

# `delayed_job -n 2 start`, as Rails' bin/delayed_job has it: each worker is a daemon of its own, which reopens the files
# that were open before. The jobs are in SQLite.
require_relative "guest"
require "logger"
require "active_record"
require "delayed_job"
require "delayed_job_active_record"
require "delayed/command"

JOBS = 60
ActiveRecord::Base.configurations = {ActiveRecord::ConnectionHandling::DEFAULT_ENV.call => {adapter: "sqlite3", database: "#{FOLDER}/jobs.sqlite3", timeout: 30_000}}
ActiveRecord::Base.establish_connection
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table :delayed_jobs do |t|
    t.integer :priority, :attempts, default: 0, null: false
    t.text :handler, null: false
    t.text :last_error
    t.datetime :run_at, :locked_at, :failed_at
    t.string :locked_by, :queue
    t.timestamps null: true
  end
end

# Opened before the workers are: they reopen it.
APPLICATION_LOG = File.open("#{FOLDER}/application.log", "a")
APPLICATION_LOG.sync = true

QueryJob = Struct.new(:number) do
  def perform
    $database ||= Database.new
    raise "no answer to #{number}" unless $database.right?("select #{number}")

    APPLICATION_LOG.write("job #{number} has its answer\n")
    File.write("#{FOLDER}/done-#{number}", "done")
  end
end

Delayed::Worker.backend = :active_record
Delayed::Worker.sleep_delay = 0.1
Delayed::Worker.max_attempts = 1
Delayed::Worker.logger = Logger.new("#{FOLDER}/worker.log", formatter: proc { |_, _, _, text| "#{text}\n" })
JOBS.times { |number| Delayed::Job.enqueue(QueryJob.new(number)) }

Dir.chdir(FOLDER)
Delayed::Command.new(["-n", "2", "--pid-dir=#{FOLDER}", "--log-dir=#{FOLDER}", "start"]).daemonize
