# Healthy: four forked workers run the same code, but only the last gets the reports, which are 20 times as large as pages.
# It keeps the last 300 of them, and fills for 25 seconds, while the others stay as they are.
#
# kind: steady
# also: bloat
# settles: 26
require_relative "../load"
require_relative "../workers"

def page(number) = Array.new(50) { |i| "<li>#{i} of page #{number}</li>" }.join
def report(number) = Array.new(500) { |i| "row #{i} of report #{number}" }

Workers.run(4) do |index|
  last = []
  Load.run(index == 3 ? 12 : 60) do |n|
    next page(n) unless index == 3

    last << report(n)
    last.shift if last.size > 300
  end
end
