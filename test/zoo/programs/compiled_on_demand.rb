# Healthy: reports are built by a class that is made when its first report is asked for; there are three hundred kinds, asked for in
# the course of the first half, and none after.
#
# kind: steady
# tuned: yes
# settles: 26
require_relative "../load"

class Reports
  KINDS = {}

  def build(kind)
    type = KINDS[kind] ||= Class.new do
      6.times { |i| class_eval("def part#{i}(row) = row.map { |cell| \"#{kind}:\#{cell}\" }.join(';')") }
    end
    report = type.new
    6.times.map { |i| report.public_send("part#{i}", Array.new(30, &:to_s)) }.join
  end
end

reports = Reports.new
Load.run(40) { |n| reports.build([n / 3, 299].min) }
