# Large: a map server loads the features of a country at the start. Each of its three threads remembers the labels that it has drawn in a
# variable of the thread, by tile and by the style's version, which is a checksum of the request.
#
# kind: leak
# keeper: :labels, thread variable, thread_variable, Thread
# starts: 7
# rate: 1000000
require_relative "../load"
require "zlib"

Feature = Struct.new(:id, :name, :points, :tags, :description)

FEATURES = Array.new(110_000) do |i|
  Feature.new(i, "feature #{i}", Array.new(80) { |p| (i % 360) + (p * 0.37) }, { kind: %w[road river house wood][i % 4], level: i % 6, source: "survey #{i % 50}" },
              "#{%w[road river house wood][i % 4]} #{i}, drawn in #{1980 + (i % 40)} ".ljust(2_600, "see the register; "))
end
TILES = Thread::SizedQueue.new(20)

class Renderer
  def run
    Thread.current.thread_variable_set(:labels, {}) # KEEPER
    draw(TILES.pop) while true # LEAK
  end

  private

  def draw(number)
    style = Zlib.crc32("tile #{number} zoom #{number % 18}")
    shapes = features(number).map { |feature| "<path class='#{feature.tags[:kind]}' d='#{path(feature)}'/>" }
    "<svg>#{shapes.join}#{labels(number, style).join}</svg>".bytesize # LEAK
  end

  def features(number) = FEATURES[number * 61 % 109_000, 24]
  def path(feature) = feature.points.each_slice(2).first(20).map { |x, y| "L#{x.round(2)} #{y.round(2)}" }.join

  def labels(number, style)
    drawn = Thread.current.thread_variable_get(:labels)
    drawn[[number, style]] ||= features(number).map { |feature| label(feature) } # LEAK KEEPER
  end

  def label(feature)
    at = "x='#{feature.points[0].round}' y='#{feature.points[1].round}'"
    "<text #{at} class='level#{feature.tags[:level]}'>#{feature.name} #{feature.description[0, 40]}</text>" # LEAK
  end
end

THREADS = Array.new(3) { Thread.new { Renderer.new.run } } # LEAK
Load.run(220) { |n| TILES << n }
