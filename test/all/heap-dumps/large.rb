# frozen_string_literal: true

# Writes a large heap dump: about 4.4 KB for each of so many orders.   Usage: ruby large.rb FILE ORDERS
require "objspace"

# An order, and the one before it.
class Order
  def initialize(number, before)
    @number = number
    @name = "order number #{number}"
    @items = [Item.new(number, before)]
    @fields = {"status" => "open", id: number.to_s}
  end
end

# What is ordered.
class Item
  def initialize(number, order)
    @name = "SKU-#{number % 5000}"
    @order = order
    @price = number * 1.1e-9
    @tags = ["a#{number % 7}", "b"]
  end
end

ORDERS = {}
ObjectSpace.trace_object_allocations_start
Integer(ARGV.fetch(1)).times.inject(nil) { |before, number| ORDERS["k#{number}"] = Order.new(number, before) }
GC.start
File.open(ARGV.fetch(0), "w") { |file| ObjectSpace.dump_all(output: file) }
