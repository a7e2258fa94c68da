# A service with a large table and much garbage; of each request a small audit entry stays.
#
# kind: leak
# tuned: yes
require_relative "../load"
TABLE = Array.new(120_000) { |i| { id: i, name: "item #{i}" } }
AUDIT = []
def audit(n) = AUDIT << ["request #{n} at #{Load.seconds} by user #{n % 71}".freeze, { path: "/items/#{n}", by: "user #{n % 71}" }] # LEAK KEEPER
Load.run(150) do |n|
  audit(n) # LEAK
  TABLE[n * 31 % TABLE.size] = { id: n, name: "item #{n} new" }
  Array.new(250) { |i| { key: "#{n}-#{i}" } }.size
end
