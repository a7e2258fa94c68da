# A collector of metrics keeps all measurements of ten seconds, and then sums and drops them.
#
# kind: steady
# tuned: yes
# also: bloat
require_relative "../load"
class Window
  def initialize = (@values, @sums, @since = [], [], Load.seconds)

  def add(name, value)
    @values << { name: name, value: value, at: Load.seconds }
    flush if Load.seconds - @since > 10
  end

  def flush
    @sums = @values.group_by { |one| one[:name] }.transform_values { |all| all.sum { |one| one[:value] } }
    @values = []
    @since = Load.seconds
  end
end
WINDOW = Window.new
Load.run(100) { |n| 20.times { |i| WINDOW.add("metric.#{(n + i) % 50}", i * 0.5) } }
