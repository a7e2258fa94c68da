# A report on a database keeps a badge for each day and repository. Through its lambda the badge keeps the repository,
# and with it its sixty issues, which the line with includes loads.
#
# kind: leak
# tuned: yes
# keeper: BADGES
# gems: activerecord 8.0.2, sqlite3 2.10.2
require_relative "../load"
require "active_record"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:repos) { |t| t.string :name }
  create_table(:issues) { |t| t.references :repo; t.string :title; t.text :body }
end

class Repo < ActiveRecord::Base
  has_many :issues
end

class Issue < ActiveRecord::Base
  belongs_to :repo
end

40.times do |i|
  repo = Repo.create!(name: "r#{i}")
  Issue.insert_all(Array.new(60) { |k| { repo_id: repo.id, title: "t#{k}", body: "b" * 80 } })
end

class Badge
  def initialize(repo) = @label = -> { repo.name }
  def to_s = @label.call
end

class Report
  BADGES = {}

  def run(day)
    Repo.includes(:issues).where(id: 1..8).each do |repo| # LEAK
      BADGES[[day, repo.id]] = Badge.new(repo) # KEEPER
      repo.issues.sum { |issue| issue.body.size }
    end
  end
end

Load.run(4) { |n| Report.new.run(n) }
