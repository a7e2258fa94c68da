# Healthy: a client of a database has six connections. A connection keeps the plan of each statement that it prepared,
# and no statement of a search is written like another one. So the plans of a connection only grow, until its age is up.
# Then it is closed with all of them and replaced. The first ones get less time, so that they do not end all at once.
#
# kind: steady
# also: bloat
# settles: 22
require_relative "../load"

class Plan
  Column = Struct.new(:name, :type, :width)

  def initialize(text, number)
    @text = text
    @columns = text.scan(/items\.\w+/).each_with_index.map { |name, i| Column.new(name, i.odd? ? :integer : :text, i * number % 97) }
    @steps = Array.new(16) { |i| "step #{i}: #{"scan the index of items, then filter by the value, " * 5}about #{number * i % 9_973} rows" }
  end

  def run(values) = values.sum + @columns.size + @steps.size
end

class Connection
  def initialize(name, age)
    @name = name
    @until = Load.seconds + age
    @plans = {}
  end

  def old? = Load.seconds > @until

  def run(text, number, values)
    plan = @plans[text] ||= Plan.new(text, number)
    plan.run(values)
  end

  def close = @plans.clear
end

class Pool
  AGE = 18

  def initialize(size)
    @opened = 0
    @idle = Array.new(size) { |i| open(AGE * (i + 1.0) / size) }
  end

  def with
    connection = @idle.shift
    if connection.old?
      connection.close
      connection = open(AGE)
    end
    yield connection
  ensure
    @idle << connection
  end

  private

  def open(age) = Connection.new("connection #{@opened += 1}", age)
end

POOL = Pool.new(6)
FIELDS = %w[name price stock color maker weight origin rating].freeze

# As the generator of the searches writes it: with names and a remark of its own.
def search(number)
  conditions = FIELDS.each_with_index.map { |field, i| "items.#{field} between $#{i * 2} and $#{(i * 2) + 1} /* #{number * (i + 3) % 99_991} */" }
  "select #{FIELDS.map { |field| "items.#{field} as #{field}_#{number}" }.join(", ")} from items where #{conditions.join(" and ")}"
end

Load.run(850) { |n| POOL.with { |connection| connection.run(search(n), n, [n, n * 7 % 1_000]) } }
