# frozen_string_literal: true

# A Puma cluster that loads its application before it forks.

# What the master leaves to its workers: objects that are never written to, objects that each request writes to, and heap
# pages with room among what is kept.
module Store
  Entry = Class.new
  def self.quiet(count) = Array.new(count) { Entry.new }
  def self.counted(count) = Array.new(count) { Entry.new }
  def self.sparse(count) = Array.new(count) { Entry.new }.select.with_index { |_, i| (i % 100).zero? }
  def self.session(count) = Array.new(count) { Entry.new }

  QUIET = quiet(100_000)
  COUNTED = counted(50_000)
  SPARSE = sparse(200_000)
  SESSIONS = []
end

def work
  Store::COUNTED.each { |entry| entry.instance_variable_set(:@hits, 1) }
  Store::SESSIONS << Store.session(50_000)
end

def save
  3.times { GC.start }
  GC.sample_profile.save("#{ENV.fetch("OUT")}/#{Process.pid}.pb.gz")
end

workers 2
threads 1, 1
preload_app!
quiet
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
before_fork do
  save unless @saved
  @saved = true
end
app do |env|
  if env["PATH_INFO"] == "/work"
    work
    save
  end
  [200, {}, [Process.pid.to_s]]
end
