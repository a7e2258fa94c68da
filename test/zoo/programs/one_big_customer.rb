# Most customers have ten orders. One has forty thousand, and asks for its statement at seconds 9, 20 and 31: that statement takes a
# hundred times as much for a moment, and afterwards nothing of it is used.
#
# kind: bloat
# tuned: yes
# also: steady, fragmentation
require_relative "../load"

def statement(customer, orders)
  lines = Array.new(orders) { |i| { customer: customer, order: i, text: "order #{i} of customer #{customer}, paid" } }
  groups = lines.group_by { |line| line[:order] % 12 }
  groups.map { |month, all| "#{month}: #{all.map { |line| line[:text] }.join(", ")}" }.join("\n").bytesize
end

BIG = [9, 20, 31]

Load.run(60) do |n|
  statement("c#{n}", 10)
  if BIG.any? && Load.seconds > BIG.first
    BIG.shift
    statement("the big one", 40_000)
  end
end
