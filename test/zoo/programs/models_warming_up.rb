# An application has sixty models on SQLite. Each is used for the first time at another moment of the first twenty seconds: Active
# Record reads its columns then and makes its methods, and each keeps that. Afterwards all are warm.
#
# kind: steady
# tuned: yes
# also: bloat
# settles: 22
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
COUNT = 60
ActiveRecord::Schema.define do
  COUNT.times { |k| create_table(:"plans#{k}") { |t| t.string :name; 12.times { |i| t.integer :"amount#{i}" } } }
end

module Plans
  COUNT.times { |k| const_set(:"Plan#{k}", Class.new(ActiveRecord::Base) { self.table_name = "plans#{k}" }) }
end

def show(number)
  used = [(Load.seconds * 3).to_i + 1, COUNT].min
  plan = Plans.const_get(:"Plan#{number % used}")
  plan.create!(name: "plan #{number}", amount0: number) unless plan.exists?
  plan.order(:id).limit(5).map { |one| "<li>#{one.name} #{one.amount0}</li>" }.join
end

Load.run(50) { |n| show(n) }
