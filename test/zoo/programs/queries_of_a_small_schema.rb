# Healthy: GraphQL queries of 300 kinds against a small schema. Parsed documents are kept in an LRU cache of 200, so that it
# is full early, and entries come and go.
#
# kind: steady
# also: bloat
# settles: 36
# gems: graphql 2.4.8
require_relative "../load"
require_relative "../zipf"
require "graphql"

class ArticleType < GraphQL::Schema::Object
  field :id, Integer
  field :title, String
  def id = object
  def title = "article #{object}"
end

class QueryType < GraphQL::Schema::Object
  field(:articles, [ArticleType]) { argument :from, Integer }
  def articles(from:) = (from..(from + 8)).to_a
end

class Schema < GraphQL::Schema
  query QueryType
end

DOCUMENTS = {}
KINDS = Zipf.new(300, 12)

def document(kind)
  found = DOCUMENTS.delete(kind) || GraphQL.parse("{ #{Array.new(1 + (kind % 6)) { |i| "part#{i}: articles(from: #{kind + i}) { id title }" }.join(" ")} }")
  DOCUMENTS[kind] = found
  DOCUMENTS.shift if DOCUMENTS.size > 200
  found
end

Load.run(40) { |_| Schema.execute(document: document(KINDS.next)).to_h.size }
