# The positions of a fleet go to a Ractor, which appends them to the track of each vehicle. The tracks are a value of the Ractor's own
# (Ractor.store_if_absent), and a track is only cut when a vehicle reports the end of its tour; a third of them never does.
#
# kind: leak
# keeper: :tracks, Ractor
# rate: 780000
require_relative "../load"
Warning[:experimental] = false

ROADS = Array.new(12_000) { |i| { name: "road #{i}", points: Array.new(40) { |p| [i + (p * 0.01), p + (i * 0.01)] }, limit: 30 + (i % 8 * 10) } }

TRACKER = Ractor.new do
  loop do
    sentence = Ractor.receive
    vehicle, time, north, east, *states = sentence.split(",")
    tracks = Ractor.store_if_absent(:tracks) { {} } # KEEPER
    next tracks.delete(vehicle) if states.include?("END")

    (tracks[vehicle] ||= []) << { time: time.to_i, at: [north.to_f, east.to_f], states: states } # LEAK KEEPER
  end
end

def sentence(number)
  vehicle = number % 240
  states = Array.new(24) { |i| "sensor#{i}=#{(number * (i + 3)) % 1_000}" }
  states << "END" if vehicle % 3 != 0 && number / 240 % 8 == 7
  ["vehicle #{vehicle}", number, 48 + (number % 1_000 / 1_000.0), 11 + (number % 777 / 1_000.0), *states].join(",")
end

def nearest(number)
  ROADS[number % 11_000, 40].min_by { |road| road[:points].sum { |x, y| (x - (number % 11_000)).abs + y } }[:name]
end

Load.run(1_600) do |n|
  TRACKER.send(sentence(n))
  nearest(n) if n % 4 == 0
end
