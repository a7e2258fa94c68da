# A service writes a report for each branch of a chain of shops. The sales of a branch come into a SQLite database,
# which the service opens with Sequel and disconnects after the report. Sequel also has each database in the Array
# Sequel::DATABASES, and disconnect does not remove it from there. A database has a logger with the statements of its
# report, for the last page.
#
# kind: leak
# line: sequel/, logger
# keeper: DATABASES, Sequel::DATABASES, sequel/
# gems: sequel 5.110.0, sqlite3 2.10.2
# rate: 440000
require_relative "../load"
require "sequel"
require "logger"
require "stringio"

class BranchReport
  def initialize(branch, sales)
    @branch = branch
    @sales = sales
  end

  def text
    statements = StringIO.new
    database = Sequel.sqlite(loggers: [Logger.new(statements)]) # LEAK KEEPER
    fill(database) # LEAK
    sums = database[:sales].select_group(:article).select_append { sum(amount).as(:total) }.order(Sequel.desc(:total)).all # LEAK
    [@branch, *sums.map { |row| "article #{row[:article]}: #{row[:total]} EUR" }, *statements.string.lines.last(20)].join("\n")
  ensure
    database&.disconnect
  end

  private

  def fill(database)
    database.create_table(:sales) do # LEAK
      primary_key :id
      Integer :article
      Integer :amount
      String :text
    end
    database[:sales].import(%i[article amount text], @sales) # LEAK
  end
end

Load.run(15) do |n|
  sales = Array.new(60) { |i| [i % 12, n * (i + 3) % 97, "sale #{i} of day #{n}: sold at till #{i % 9}, #{"with the card of a customer, " * 5}no return"] }
  BranchReport.new("branch #{n % 400}", sales).text # LEAK
end
