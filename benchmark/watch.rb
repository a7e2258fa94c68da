# Does Ruby code stand still longer while somebody watches it? A minute of each, in turns.
require_relative "support"

TURN, TURNS = 10, 6     # seconds
HEAPSAMPLE = File.join(Bench::TOP, "src/libexec/heapsample")

# Seconds at which `share` of all units were done, from counts by 40ths of a decade.
def percentile(counts, share)
  wanted, seen = counts.values.sum * share, 0
  counts.sort.find { |_, count| (seen += count) >= wanted }.first.then { |bucket| 10**((bucket + 1) / 40.0) / 1000 }
end

def watched(pid)
  watcher = spawn(Bench::RUBY, "--disable=gems", HEAPSAMPLE, "watch", pid.to_s, out: File::NULL)
  sleep 1.5                                     # it starts
  yield
ensure
  Process.kill(:TERM, watcher)
  Process.wait(watcher)
  sleep 0.5
end

def turn
  began = Bench.now
  sleep TURN
  (began..Bench.now)
end

turns = {control: [], watched: []}
seconds = []
environment = Bench::ENVIRONMENT.merge("RUBY_HEAP_SAMPLE" => "output=none")
IO.popen([environment, Bench::RUBY, "--disable=gems", Bench.here("programs/units.rb")], "r+") do |io|
  io.gets
  reader = Thread.new { io.each_line { |line| seconds << line.split.map(&:to_f) } }
  sleep 3
  TURNS.times do
    turns[:control] << turn
    watched(io.pid) { turns[:watched] << turn }
  end
  io.close_write
  reader.join
end

Bench.title "Ruby code beside `heapsample watch`",
  "One loop of units (benchmark/programs/units.rb) at the default interval, #{TURN * TURNS} s with a watcher and as long without, in turns of #{TURN} s;",
  "only whole seconds within a turn count. Times of a unit in ms; `still`: the time in units of more than 1 ms, of all."
rows = turns.map do |name, ranges|
  counts = Hash.new(0)
  within = seconds.select { |began, *| ranges.any? { |range| range.cover?(began) && range.cover?(began + 1.01) } }
  within.each { |_, *pairs| pairs.each_slice(2) { |bucket, count| counts[bucket] += count } }
  middle = ->(bucket) { 10**((bucket + 0.5) / 40.0) / 1000 }
  still = counts.sum { |bucket, count| middle[bucket] > 1 ? middle[bucket] * count : 0 }
  [name.to_s, within.size.to_s, counts.values.sum.to_i.to_s, *[0.5, 0.99, 0.999, 0.9999, 1].map { |share| format("%.2f", percentile(counts, share)) },
   format("%.1f%%", still / counts.sum { |bucket, count| middle[bucket] * count } * 100)]
end
Bench.table ["", "seconds", "units", "median", "99%", "99.9%", "99.99%", "longest", "still"], rows
