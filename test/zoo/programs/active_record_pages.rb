# A page of issues by Active Record on SQLite, forty of them, and an update now and then: the table stays as large.
#
# kind: steady
# tuned: yes
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define { create_table(:issues) { |t| t.integer :repo; t.string :title; t.text :body } }

class Issue < ActiveRecord::Base; end

Issue.insert_all(Array.new(2_000) { |k| { repo: k % 50, title: "t#{k}", body: "b" * 80 } })

def page(number)
  issues = Issue.where(repo: number % 50).order(:id).to_a
  issues.first.update!(title: "seen #{number}")
  issues.map { |issue| "<li>#{issue.title}</li>" }.join
end

Load.run(25) { |n| page(n) }
