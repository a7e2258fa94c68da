# A consumer of a stream looks up prices in a cache on the network. Someone wrapped its whole loop in with_local_cache, which is meant for
# one request: the local store keeps each entry that was read or written since the consumer started.
#
# kind: leak
# line: active_support/cache
# keeper: active_support/cache/strategy/local_cache, @data, LocalStore, LocalCacheRegistry
# gems: activesupport 8.0.2
# rate: 1700000
require_relative "../load"
require "active_support"
require "active_support/cache"
require "active_support/notifications"

# A cache on the network: here, a table that forgets what is old.
class NetworkStore < ActiveSupport::Cache::Store
  prepend ActiveSupport::Cache::Strategy::LocalCache

  def initialize(...)
    super
    @remote = {}
  end

  private

  def read_entry(key, **options) = deserialize_entry(read_serialized_entry(key, **options), **options)
  def read_serialized_entry(key, **_) = @remote[key]
  def write_entry(key, entry, **options) = write_serialized_entry(key, serialize_entry(entry, **options), **options)
  def delete_entry(key, **_) = !@remote.delete(key).nil?

  def write_serialized_entry(key, payload, **_)
    @remote.shift if @remote.size >= 300
    @remote[key] = payload
    true
  end
end

STORE = NetworkStore.new(compress: false)

def prices(article) = Array.new(90) { |i| ["country #{i}", (article * (i + 3)) % 90_000, "incl. #{i % 25}% of tax, article #{article}"] }

def handle(number)
  table = STORE.fetch("prices/#{number}") { prices(number) } # LEAK
  STORE.fetch("prices/#{[number - 5, 1].max}") { prices(number) } # LEAK
  40.times { |basket| table.sum { |_, cents, _| cents * basket } }
  5.times { |currency| table.map { |country, cents, note| "#{country}: #{(cents * (10 + currency)).fdiv(1_000).round(2)} (#{note})" }.join("\n") }
end

STORE.with_local_cache do
  Load.run(300) { |n| handle(n) } # LEAK
end
