# A service opens a database of SQLite for each tenant that asks and keeps it open: tenants never get fewer. The memory is
# SQLite's, behind small Ruby objects.
#
# kind: native
# tuned: yes
# also: leak
# line: sqlite3/
# keeper: @databases
# gems: sqlite3 2.10.2
require_relative "../load"
require "sqlite3"

class Tenants
  def initialize = @databases = {}

  def database(tenant)
    @databases[tenant] ||= SQLite3::Database.new(":memory:").tap do |database| # LEAK KEEPER
      database.execute("create table orders (id integer primary key, text text)") # LEAK
      50.times { |i| database.execute("insert into orders (text) values (?)", ["order #{i}"]) } # LEAK
    end
  end
end

TENANTS = Tenants.new
Load.run(10) { |n| TENANTS.database(n).execute("select count(*) from orders") } # LEAK
