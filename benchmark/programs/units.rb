# Small units of work, one after the other, each timed: how long did Ruby code stand still? It prints a line a second: the second
# (monotonic), and how many units took so long, by 40ths of a decade from 1 µs on.  Ends when its input does.
KEPT = []
unit = -> { KEPT << Array.new(40) { |i| "text #{i}" }; KEPT.shift if KEPT.size > 5_000; 300.times { |i| i * i } }
puts "ready"
$stdout.flush
Thread.new { $stdin.read && exit!(0) }
clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
loop do
  counts = Hash.new(0)
  began = at = clock.call
  while at - began < 1
    unit.call
    now = clock.call
    counts[(Math.log10([(now - at) * 1e6, 1].max) * 40).floor] += 1
    at = now
  end
  puts "#{began} #{counts.to_a.flatten.join(" ")}"
  $stdout.flush
end
