# A reporting service hands its reports out by reference (DRb): the letter to a department has a DRbObject in it. Its converter of ids keeps
# what a reference was made of for an hour (TimerIdConv), so that nothing is collected in the meantime; reports come twenty a second.
#
# kind: leak
# line: drb/
# keeper: timeridconv, @renew, @holder, TimerIdConv, CONVERTER
# gems: drb 2.2.3
# rate: 1200000
require_relative "../load"
require "drb"
require "drb/timeridconv"

CONVERTER = DRb::TimerIdConv.new(3_600)
DRb.install_id_conv(CONVERTER)
DRb.start_service("druby://127.0.0.1:0")

SALES = Array.new(40_000) { |i| [i % 500, "branch #{i % 70}", (i * 31 % 997) / 4.0] }

class Report
  include DRb::DRbUndumped

  def initialize(number)
    chosen = SALES[number * 53 % 36_000, 4_000].group_by { |_, branch, _| branch }
    @rows = chosen.flat_map { |branch, sales| sales.first(9).map { |article, _, sum| "#{branch}: article #{article} sold for #{sum} in report #{number}" } } # LEAK
    @totals = chosen.transform_values { |sales| sales.sum { |sale| sale[2] } } # LEAK
  end

  def head = @totals.max_by(&:last).join(" leads with ")
end

def letter(report) = Marshal.dump(DRb::DRbObject.new(report)) # LEAK KEEPER

Load.run(20) do |n|
  report = Report.new(n) # LEAK
  [report.head, letter(report)].join("\n").size
  SALES.first(15_000).map { |article, branch, sum| "#{article},#{branch},#{sum}" }.each_slice(100).map { |lines| lines.join("\n") }.max.size
end
