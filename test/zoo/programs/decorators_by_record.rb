# Decorators are kept in an ObjectSpace::WeakKeyMap by their record, to be gone when the record is. But a decorator refers to its
# record, and the map keeps its values: none ever goes.
#
# kind: leak
# tuned: yes
# keeper: DECORATED, WeakKeyMap
require_relative "../load"

Order = Struct.new(:number, :lines)

class Decorated
  DECORATED = ObjectSpace::WeakKeyMap.new
  def self.of(order) = DECORATED[order] ||= new(order) # LEAK KEEPER

  def initialize(order) = @order = order
  def title = "Order #{@order.number} of #{@order.lines.size} lines"
end

def load_order(number) = Order.new(number, Array.new(8) { |i| "line #{i} of order #{number}" }) # LEAK

Load.run(200) { |n| Decorated.of(load_order(n)).title } # LEAK
