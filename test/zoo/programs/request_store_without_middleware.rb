# A background worker uses code of a web application, which caches permissions in the gem request_store. No middleware clears the
# store in a worker, so that the store of its thread has the permissions of every user since the start.
#
# kind: leak
# line: request_store
# keeper: request_store
# gems: request_store 1.7.0
# rate: 1700000
require_relative "../load"
require "request_store"

class User
  def initialize(id) = @id = id

  def permissions
    key = :"permissions_#{@id}"
    RequestStore.store[key] ||= Array.new(50) { |i| permission(i) } # LEAK KEEPER
  end

  def permission(folder) = { resource: "folder/#{folder}/of/user/#{@id}", actions: %w[read write].first(1 + (folder % 2)) } # LEAK

  def may?(action) = permissions.count { |one| one[:actions].include?(action) } # LEAK
end

JOBS = Thread::Queue.new
WORKERS = Array.new(2) do
  Thread.new do
    while (id = JOBS.pop)
      User.new(id).may?("write") # LEAK
      Array.new(100) { |i| "mail #{i} to user #{id}" }.join("\n")
    end
  end
end

Load.run(90) { |n| JOBS << n }
JOBS.close
WORKERS.each(&:join)
