# frozen_string_literal: true

# A shop as an application server holds it: a catalogue that is loaded before workers are forked, and for
# each request a page and a JSON document made of it, most of which is garbage at once. A cache keeps the newest of
# them; it is full soon, so that from then on the process needs no more memory than before.
require "erb"
require "json"

module Shop
  Item = Struct.new(:id, :name, :price, :tags)
  CATALOGUE = Array.new(60_000) { |i| Item.new(i, "item number #{i}", i * 7 % 1000, ["tag #{i % 50}", "tag #{i % 7}"]) }.freeze
  PAGE = ERB.new("<ul><% items.each do |item| %><li><%= item.name %>: <%= item.price %> (<%= item.tags.join(', ') %>)</li><% end %></ul>")
  CACHED = 500

  class App
    def initialize
      @cache = {}
      @lock = Mutex.new
    end

    def call(env)
      id = env["QUERY_STRING"].to_i
      items = Array.new(30) { |i| CATALOGUE[(id * 31 + i * 97) % CATALOGUE.size] }
      page = PAGE.result_with_hash(items:)
      document = JSON.parse(JSON.generate({ id:, page:, items: items.map(&:to_h) }), symbolize_names: true)
      keep(id, document)
      [200, { "content-type" => "application/json" }, [JSON.generate(document.slice(:id, :items))]]
    end

    private

    def keep(id, document)
      @lock.synchronize do
        @cache.delete(id)
        @cache[id] = document
        @cache.shift if @cache.size > CACHED
      end
    end
  end
end
