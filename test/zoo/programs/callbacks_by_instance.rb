# Each order adds a callback to its class (ActiveSupport::Callbacks), where it meant itself alone. The class has one more for each
# order; they are conditions that are never true, so that the time that they take is not seen at once.
#
# kind: leak
# line: active_support/callbacks.rb, active_support/class_attribute.rb
# keeper: active_support/callbacks.rb, @chain, __callbacks
# gems: activesupport 8.0.2
# rate: 180000
require_relative "../load"
require "active_support"
require "active_support/callbacks"

class Order
  include ActiveSupport::Callbacks
  define_callbacks :ship

  def initialize(number) = (@number, @lines = number, Array.new(500) { |i| "line #{i} of order #{number}" }) # LEAK
  def track = self.class.set_callback(:ship, :after, -> { @lines.clear }, if: -> { false }) # LEAK KEEPER
  def print = @lines.first(40).join("\n")
end

Load.run(4) do |n|
  order = Order.new(n) # LEAK
  order.track # LEAK
  order.print
end
