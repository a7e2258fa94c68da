# A cache of records by ObjectSpace::WeakMap: the records live as long as a request has them.
#
# kind: steady
# tuned: yes
require_relative "../load"

CACHE = ObjectSpace::WeakMap.new
Record = Struct.new(:id, :fields)

def record(id) = CACHE[id] ||= Record.new(id, Array.new(20) { |i| "field #{i} of #{id}" })

Load.run(500) { |n| record(n).fields.size + record(n - 1).fields.size }
