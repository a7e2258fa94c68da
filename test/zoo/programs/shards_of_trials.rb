# The maker of a program for bookkeeping lets visitors try it. Each trial has a SQLite database of its own in memory,
# which Active Record uses as a shard. A trial ends with the session of its visitor, but its shard stays in the table
# of the connection pools. Most of the memory is malloc'ed by SQLite.
#
# kind: native
# also: leak
# line: active_record/, sqlite3
# keeper: @connection_name_to_pool_manager, @role_to_shard_mapping, active_record/, ConnectionHandler, PoolManager
# gems: activerecord 7.2.2.1, sqlite3 2.10.2
# rate: 1000000
require_relative "../load"
require "active_record"

class Posting < ActiveRecord::Base
end

class Trial
  TABLE = "CREATE TABLE postings (id INTEGER PRIMARY KEY, account INTEGER, amount INTEGER, text TEXT)"

  def initialize(number)
    @shard = :"trial_#{number}"
    database = { adapter: "sqlite3", database: ":memory:" }
    ActiveRecord::Base.connection_handler.establish_connection(database, owner_name: ActiveRecord::Base, role: :writing, shard: @shard) # LEAK
  end

  # What a visitor does.
  def visit
    ActiveRecord::Base.connected_to(role: :writing, shard: @shard) do # LEAK
      Posting.connection.execute(TABLE) # LEAK
      Posting.insert_all!(Array.new(400) { |i| { account: i % 20, amount: i * 31 % 977, text: "example #{i}: #{"paid for the office, " * 9}thank you" } }) # LEAK
      Posting.where(account: 7).order(:id).limit(10).map { |posting| "#{posting.text}: #{posting.amount} EUR" }.join("\n")
    end
  end
end

Load.run(4) { |n| Trial.new(n).visit } # LEAK
