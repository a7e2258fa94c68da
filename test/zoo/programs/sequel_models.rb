# A service has a table for each tenant and makes a model for it on each request, by Sequel::Model(:tenant_n). Sequel keeps
# such anonymous models in a cache.
#
# kind: leak
# tuned: yes
# line: sequel/
# keeper: sequel/model, sequel/model.rb, @cache, @Model_cache
# gems: sequel 5.110.0, sqlite3 2.10.2
require_relative "../load"
require "sequel"
DB = Sequel.sqlite
DB.create_table(:templates) { primary_key :id; String :name }
Sequel::Model.require_valid_table = false

def tenant(number)
  model = Class.new(Sequel::Model(DB[:templates].where(tenant: number))) # LEAK KEEPER
  model.columns.size
end

Load.run(8) { |n| tenant(n) } # LEAK
