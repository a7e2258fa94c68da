# Twice a large document is parsed from JSON and made again, once at ten seconds and once, larger, at twenty. Memory steps
# up with each and stays.
#
# kind: bloat
# tuned: yes
# also: steady, fragmentation
# gems: json 2.7.2
require_relative "../load"
require "json"

def document(rows) = JSON.generate(Array.new(rows) { |i| { id: i, name: "name #{i}", tags: ["a#{i}", "b#{i}"] } })
def report(rows) = JSON.parse(document(rows)).map { |row| row.merge("seen" => true) }.then { |all| JSON.generate(all).bytesize }

sizes = [[10, 50_000], [20, 120_000]]
Load.run(80) do |n|
  report(sizes.shift.last) if sizes.any? && Load.seconds > sizes.first.first
  Array.new(100) { |i| "<li>#{n} #{i}</li>" }.join
end
