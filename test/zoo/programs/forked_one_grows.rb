# A server forks three workers; only the first has the job of reports, which keeps every report. The others and the master
# do not grow.
#
# kind: leak
# tuned: yes
# keeper: @reports
require_relative "../load"
require_relative "../workers"

class Reports
  def initialize = @reports = []
  def run(number) = @reports << Array.new(60) { |i| "line #{i} of report #{number}" } # LEAK KEEPER
end

def page(number) = Array.new(200) { |i| "<li>#{i} of #{number}</li>" }.join

REPORTS = Reports.new
Workers.run(3) do |index|
  Load.run(120) do |n|
    page(n)
    REPORTS.run(n) if index.zero? # LEAK
  end
end
