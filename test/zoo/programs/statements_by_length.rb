# Healthy: lists of ids of all lengths are looked up; Active Record keeps a prepared statement for each, at most so many, and the pool
# is full soon.
#
# kind: steady
# tuned: yes
# settles: 20
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:", statement_limit: 150)
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:tickets) { |t| t.string :title } }

class Ticket < ActiveRecord::Base; end
Ticket.insert_all(Array.new(300) { |i| { title: "ticket #{i}" } })

Load.run(20) { |n| Ticket.where(id: (1..(1 + n % 400))).or(Ticket.where(title: Array.new(1 + n % 200) { |i| "t#{i}" })).to_a.size }
