# Large: a timetable is loaded at the start. Delayed departures go into a priority queue of a C++ extension (priority_queue_cxx),
# sorted by time, and nothing removes the departures of the past.
#
# kind: leak
# keeper: $departures, PriorityQueue
# gems: priority_queue_cxx 0.3.7
# starts: 6
# rate: 1200000
require_relative "../load"
require "fc"

Stop = Struct.new(:name, :minute, :platform, :notes)
Departure = Struct.new(:line, :delay, :messages)

TIMETABLE = Array.new(2_600) do |line|
  Array.new(110) { |i| Stop.new("stop #{i} of line #{line}", (line + (i * 3)) % 1440, i % 12, "notes on platform #{i % 12}: #{"step-free access, " * 60}") }
end
$departures = FastContainers::PriorityQueue.new(:min)

def delay(number)
  line = number * 31 % TIMETABLE.size
  messages = TIMETABLE[line].first(14).map { |stop| "line #{line} leaves #{stop.name} #{number % 40} minutes late" } # LEAK
  $departures.push(Departure.new(line, number % 40, messages), number) # LEAK KEEPER
end

Load.run(900) do |n|
  delay(n) # LEAK
  TIMETABLE[n % TIMETABLE.size].map { |stop| "#{stop.name} #{stop.minute}" }.join("\n") if n % 20 == 0
end
