# After a quarter of a minute a file of 60,000 lines is read by CSV with headers, all rows at once, and summed up. Memory
# steps up and stays.
#
# kind: bloat
# tuned: yes
# also: steady, fragmentation
require_relative "../load"
require "csv"

FILE = "id,name,price,count\n#{Array.new(60_000) { |i| "#{i},article #{i},#{i % 97}.5,#{i % 7}" }.join("\n")}\n".freeze
def total = CSV.parse(FILE, headers: true).sum { |row| row["price"].to_f * row["count"].to_i }

done = false
Load.run(80) do |n|
  done = total if !done && Load.seconds > 15
  Array.new(100) { |i| "<li>#{n} #{i}</li>" }.join
end
