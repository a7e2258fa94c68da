# Each five seconds a report of 15,000 lines is written as CSV, a thousand lines at a time; between them small requests.
#
# kind: steady
# tuned: yes
# also: bloat, fragmentation
# gems: csv 3.3.0
require_relative "../load"
require "csv"
require "stringio"

def report
  15.times do |part|
    CSV.generate { |csv| 1_000.times { |i| csv << [part, i, "name #{i}", i * 0.5] } }.size
    sleep 0.02
  end
end

last = 0.0
Load.run(200) do |n|
  report.then { last = Load.seconds } if Load.seconds - last > 5
  Array.new(60) { |i| "<li>#{n} #{i}</li>" }.join
end
