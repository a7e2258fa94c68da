# Rails' MemoryStore of 8 MB: fragments of pages come into it until it is full and prunes itself, again and again.
#
# settles: 20
# kind: steady
# tuned: yes
# also: bloat
# gems: activesupport 8.0.2
require_relative "../load"
require "active_support"
require "active_support/cache"

CACHE = ActiveSupport::Cache::MemoryStore.new(size: 8 * 1024 * 1024)
def fragment(id) = CACHE.fetch("fragment/#{id}") { Array.new(60) { |i| "<li>#{i} of #{id}</li>" }.join }

Load.run(500) { |n| fragment(n % 40_000) }
