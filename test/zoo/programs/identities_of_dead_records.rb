# A mapper of records has an identity map: a Hash from the table and number of a record to a WeakRef of the record.
# The records are collected when no request needs them. Their keys and the dead WeakRefs stay in the Hash.
#
# kind: leak
# line: weakref.rb
# keeper: @records, IDENTITIES, IdentityMap
# rate: 360000
require_relative "../load"
require "weakref"

class IdentityMap
  def initialize = @records = {}

  def fetch(table, number)
    key = "#{table}/#{number}/current" # LEAK
    found(key) || yield.tap { |record| @records[key] = WeakRef.new(record) } # LEAK KEEPER
  end

  private

  def found(key)
    @records[key]&.__getobj__
  rescue WeakRef::RefError
    nil
  end
end

Shipment = Struct.new(:number, :state, :sender, :receiver, :notes)
IDENTITIES = IdentityMap.new

def read(number)
  Shipment.new(number, "state #{number % 7}", "sender #{number % 900}", "receiver #{number * 13 % 7_000}", "shipment #{number}, to be left at the gate; " * 4)
end

def shipment(number) = IDENTITIES.fetch("shipments", number) { read(number) } # LEAK

Load.run(350) do |n|
  numbers = Array.new(6) { |i| (n * 6) + i } # six new shipments, of which the first is asked for again
  shipments = numbers.map { |number| shipment(number) } # LEAK
  shipment(numbers.first)
  shipments.map { |one| "#{one.number}: #{one.state}, from #{one.sender} to #{one.receiver}" }.join("\n").tr("aeiou", "*")
end
