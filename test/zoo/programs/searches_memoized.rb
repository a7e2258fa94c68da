# A search is memoized by Dry::Core::Cache, which never drops anything, under what the visitor has asked for.
#
# kind: leak
# tuned: yes
# line: dry/core/cache.rb, concurrent/
# keeper: dry/core/cache.rb, concurrent/, Dry::Core::Cache, __cache__
# gems: dry-core 1.1.0
require_relative "../load"
require "dry/core"
require "dry/core/cache"

class Search
  extend Dry::Core::Cache

  def self.for(filters) = fetch_or_store(filters) { new(filters) } # LEAK KEEPER

  def initialize(filters)
    @filters = filters
    @clauses = filters.map { |name, value| "#{name} LIKE '%#{value}%'" } # LEAK
  end

  def to_sql = @clauses.join(" AND ")
end

Load.run(200) { |n| Search.for({ name: "article #{n}", colour: "colour #{n % 12}", shop: "shop #{n % 90}", most: n % 500 }).to_sql } # LEAK
