# A weather service groups the reports of its stations by their mean temperature, to compare stations that have the
# same weather. A group is deleted when its time is over, by the mean that is computed again. A broken station reports
# no values, so its mean is 0 / 0, which is not a number (NaN). NaN is not equal to itself: the Hash gets a new group
# for each such report, and does not find it when it should be deleted.
#
# kind: leak
# keeper: @groups, WEATHER, Weather
# rate: 350000
require_relative "../load"

class Weather
  Report = Struct.new(:station, :measured, :lines)

  def initialize = @groups = {}

  def add(report)
    mean = mean(report.measured) # LEAK
    (@groups[mean] ||= []) << report # LEAK KEEPER
  end

  def remove(report) = @groups.delete(mean(report.measured))
  def neighbours(report) = @groups.fetch(mean(report.measured), []).map(&:station)

  private

  # The values are in tenths of a degree.
  def mean(values) = values.sum / values.size.to_f # LEAK
end

STATIONS = Array.new(240) { |i| "station #{i} on the hill of village #{i * 31 % 90}" }.freeze
WEATHER = Weather.new
WAITING = []

def report(number)
  values = number % 6 == 0 ? [] : Array.new(8) { |i| (number * 7_919 % 400) - 100 + i }
  lines = Array.new(60) { |i| "minute #{i} of report #{number}: wind from #{number * (i + 7) % 360} degrees, #{i * number % 40} km/h, clouds at #{i * 31 % 3_000} m" } # LEAK
  Weather::Report.new(STATIONS[number % STATIONS.size], values, lines) # LEAK
end

Load.run(240) do |n|
  report = report(n) # LEAK
  WEATHER.add(report) # LEAK
  WEATHER.neighbours(report).join(", ") unless report.measured.empty?
  WAITING << report
  WEATHER.remove(WAITING.shift) if WAITING.size > 480
end
