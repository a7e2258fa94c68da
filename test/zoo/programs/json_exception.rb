# json 2.7.1 leaks the buffer of JSON.generate, which is malloc'd, when an exception leaves it: here one to_json in four
# raises (flori/json#574). 2.7.2 does not.
#
# kind: native
# tuned: yes
# also: leak
# line: json/common.rb
# gems: json 2.7.1
# mended: json 2.7.2
require_relative "../load"
require "json"

class Invoice
  def initialize(number) = @number = number
  def to_json(*) = @number % 4 == 0 ? raise(ArgumentError, "no total") : %({"n":#{@number}})
end

def render(number) = JSON.generate({ "id" => number, "note" => "x" * 3000, "invoice" => Invoice.new(number) }) # LEAK

Load.run(1000) do |n|
  render(n)
rescue ArgumentError
  nil
end
