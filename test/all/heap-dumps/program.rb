# frozen_string_literal: true

# Writes three heap dumps into a folder: Orders stay, Drafts come and go, and slots are used again.
require "objspace"

ObjectSpace.trace_object_allocations_start
Order = Struct.new(:number, :note)
Draft = Struct.new(:number)
ORDERS = {}
drafts = nil
def order(number) # on three lines, for Ruby 2.7
  ORDERS["order #{number}"] = Order.new(number, +"a note that a hundred orders have")
end

3.times do |dump|
  100.times { |index| order((dump * 100) + index) }
  drafts = Array.new(300) { |index| Draft.new(index) }
  2.times { GC.start }
  File.open(File.join(ARGV.fetch(0), "#{dump}.json"), "w") { |file| ObjectSpace.dump_all(output: file) }
  drafts.clear
end
