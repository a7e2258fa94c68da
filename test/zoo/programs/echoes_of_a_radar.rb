# A radar follows ships. Each ship has a track: a filter of alpha and beta, and the echoes that it was made from. An
# echo goes to the nearest track, or begins a new one. A track without an echo for four seconds is marked as lost and
# drawn no more. It should be removed when it has been lost for some time, but that time is measured from when the
# track was looked at last, and each track is looked at in each turn.
#
# kind: leak
# keeper: @tracks, RADAR
# starts: 4
# rate: 720000
require_relative "../load"

Echo = Struct.new(:time, :x, :y, :samples)

class Track
  attr_reader :x, :y, :seen, :echoes
  attr_accessor :checked, :lost

  def initialize(echo)
    @x = echo.x
    @y = echo.y
    @vx = @vy = 0.0
    @seen = @checked = echo.time
    @echoes = [echo] # LEAK
    @lost = false
  end

  def distance(echo) = (echo.x - @x).abs + (echo.y - @y).abs

  def update(echo)
    step = [echo.time - @seen, 0.05].max
    dx = echo.x - (@x + (@vx * step))
    dy = echo.y - (@y + (@vy * step))
    @x += (@vx * step) + (0.6 * dx)
    @y += (@vy * step) + (0.6 * dy)
    @vx += 0.2 * dx / step
    @vy += 0.2 * dy / step
    @seen = echo.time
    @echoes << echo # LEAK
    @echoes.shift if @echoes.size > 12
  end
end

class Radar
  GATE = 0.4

  def initialize = @tracks = Hash.new { |tracks, cell| tracks[cell] = [] } # LEAK

  def size = @tracks.each_value.sum(&:size)

  def echo(echo)
    tracks = @tracks[[echo.x.floor, echo.y.floor]]
    track = tracks.reject(&:lost).min_by { |other| other.distance(echo) }
    if track && track.distance(echo) < GATE
      track.update(echo) # LEAK
    else
      tracks << Track.new(echo) # LEAK KEEPER
    end
  end

  # The tracks that are drawn.
  def turn(now)
    drawn = []
    @tracks.each_value do |tracks|
      tracks.delete_if { |track| track.lost && now - track.checked > 8 }
      tracks.each do |track|
        track.lost = now - track.seen > 4
        track.checked = now
        drawn << track unless track.lost
      end
    end
    drawn
  end
end

RADAR = Radar.new

# Ninety ships at a time. Each is seen nine times, a third of a second apart, and then another one comes elsewhere.
def echo(number)
  cell = number % 90
  ship = number / 90 / 9 * 7_919 % 300
  x = ((cell + ship) % 30) + 0.2 + (number / 90 % 9 * 0.03)
  y = (((cell * 7) + ship) / 30 % 10) + 0.5
  Echo.new(Load.seconds, x, y, [Array.new(900) { |i| (i * number % 4_093) - 2_000 }.pack("s*"), "echo #{number} at #{x.round(2)}, #{y.round(2)}"]) # LEAK
end

drawn = 0
Load.run(270) do |n|
  RADAR.echo(echo(n)) # LEAK
  drawn += RADAR.turn(Load.seconds).size if n % 270 == 0
end
