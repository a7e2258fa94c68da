# Large: a store of documents for phones that are often offline has a vector clock with each document: the number of changes by replica. An
# app that starts anew calls itself a new replica, and the clocks are never pruned, so that each change adds an entry to one of them.
#
# kind: leak
# keeper: @clock, DOCUMENTS
# starts: 8
# rate: 540000
require_relative "../load"
require "json"

class Document
  attr_reader :clock, :fields

  def initialize(number)
    @fields = Array.new(14) { |i| ["field #{i}", "document #{number}, value #{i}: #{(number * i) % 7_000} ".ljust(280, "abc ")] }.to_h
    @clock = Array.new(3) { |i| ["replica-#{number}-#{i}", i + 1] }.to_h
  end

  def change(replica, field, text)
    @fields[field] = text.ljust(280)
    @clock[replica] = (@clock[replica] || 0) + 1 # LEAK KEEPER
  end

  def newer?(other) = other.all? { |replica, count| (@clock[replica] || 0) >= count }
end

DOCUMENTS = Array.new(80_000) { |i| Document.new(i) }

# A new start of an app on one of the phones.
def replica(number) = "replica-#{number}-of-phone-#{number * 31 % 200_000}-#{(number * 2_654_435_761 % (2**48)).to_s(16).rjust(40, "0")}" # LEAK

Load.run(2_400) do |n|
  document = DOCUMENTS[(n * 7_919) % 2_000]
  document.change(replica(n), "field #{n % 14}", "changed by #{n}") # LEAK
  document.newer?("replica-#{n}-0" => 1)
  3.times { |i| JSON.parse(JSON.generate(DOCUMENTS[(n * 104_729 * (i + 1)) % DOCUMENTS.size].fields)).sort_by(&:last).first }
end
