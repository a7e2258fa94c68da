# A daemon has its whole loop in one transaction, so that it never commits. The model has a callback for after the commit: Active Record
# keeps each record that was saved until then. The table has always the same 500 parcels.
#
# kind: leak
# tuned: yes
# line: active_record/, active_model/
# keeper: abstract/transaction.rb, @records
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:parcels) { |t| t.string :place; t.text :notes; t.integer :seen } }

class Parcel < ActiveRecord::Base
  after_commit { @told = true }
end

Parcel.insert_all(Array.new(500) { |k| { place: "shelf #{k}", notes: "fragile " * 40, seen: 0 } })

Parcel.transaction do
  Load.run(30) do |n|
    parcel = Parcel.find(1 + (n % 500)) # LEAK
    parcel.update!(place: "belt #{n}", seen: n) # LEAK KEEPER
  end
end
