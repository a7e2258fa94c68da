# An import builds 600,000 rows and keeps one in forty of them, spread over all heap pages. The pages stay, mostly empty.
#
# kind: fragmentation
# tuned: yes
# also: bloat, steady
require_relative "../load"

def import = Array.new(600_000) { |i| "row #{i}" }.select.with_index { |_, i| i % 40 == 0 }

kept = nil
Load.run(80) do |n|
  kept ||= import if Load.seconds > 7
  Array.new(100) { |i| "<li>#{n} #{i}</li>" }.join
end
