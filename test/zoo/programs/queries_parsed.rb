# A GraphQL server keeps the parsed document of each query, so that the next one like it need not be parsed. Clients write ids into
# the text in place of variables, and no two are alike.
#
# kind: leak
# tuned: yes
# line: graphql/
# gems: graphql 2.4.8
require_relative "../load"
require "graphql"

class Documents
  def initialize = @parsed = {}
  def of(text) = @parsed[text] ||= GraphQL.parse(text) # LEAK KEEPER
end

DOCUMENTS = Documents.new

Load.run(40) do |n|
  document = DOCUMENTS.of("query { order(id: #{n}) { number total lines(first: 20) { article price } customer(id: \"c#{n}\") { name } } }") # LEAK
  document.definitions.first.selections.size
end
