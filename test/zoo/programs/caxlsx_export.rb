# Once, somebody exports everything with caxlsx: a workbook holds all its cells as objects, a hundred megabytes, which are
# garbage when it is written (caxlsx#179). The process stays as large.
#
# kind: bloat
# tuned: yes
# also: steady, fragmentation
# gems: nokogiri 1.19.3, caxlsx 3.3.0
require_relative "../load"
require "axlsx"
require "securerandom"

def export(rows)
  package = Axlsx::Package.new
  package.workbook.add_worksheet(name: "all") { |sheet| rows.times { |i| sheet.add_row [SecureRandom.alphanumeric(40), i.even?, i] * 5 } }
  package.to_stream.read.bytesize
end

def request(number) = Array.new(2000) { |i| "row #{i} of #{number}" }.join(",").size

exported = false
Load.run(60) do |n|
  request(n)
  exported = export(6_000) if !exported && Load.seconds > 15
end
