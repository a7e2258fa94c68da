# Wisper's listeners are subscribed for all publishers, a new listener object for each request, and none is ever removed.
#
# kind: leak
# line: wisper/
# keeper: wisper/, GlobalListeners, @registrations
# gems: wisper 3.0.0
# rate: 40000
require_relative "../load"
require "wisper"

class Checkout
  include Wisper::Publisher
  def call(order) = broadcast(:ordered, order)
end

class Receipt
  def initialize(user) = (@user, @lines = user, Array.new(25) { |i| "line #{i} for #{user}" }) # LEAK
  def paid(_order) = @lines.clear
end

Load.run(12) do |n|
  Wisper.subscribe(Receipt.new("user #{n}"), on: :paid) # LEAK KEEPER
  Checkout.new.call(n)
end
