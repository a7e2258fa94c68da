# A render farm distributes its jobs by a tuple space (rinda). A worker takes a job, writes its result, which the master takes, and a trace of
# what it did, which nobody takes; a tuple without a lifetime stays for ever.
#
# kind: leak
# line: rinda/
# keeper: rinda/, SPACE, Rinda::TupleBag, Rinda::TupleSpace, @bag
# gems: drb 2.2.3
# rate: 1170000
require_relative "../load"
require "rinda/tuplespace"

SPACE = Rinda::TupleSpace.new
SCENES = Array.new(800) { |i| { name: "scene #{i}", textures: Array.new(12) { |t| "texture #{t} of scene #{i} ".ljust(3_000, "%") }, lights: [i % 5, i % 7, i % 11] } }

class Renderer
  def initialize(name) = @name = name

  def work
    loop do
      _, number, scene = SPACE.take([:job, Integer, Integer])
      lines = render(number, SCENES[scene])
      SPACE.write([:result, number, lines.join.hash])
      SPACE.write([:trace, number, trace(number, lines)]) # LEAK KEEPER
    end
  end

  private

  def render(number, scene)
    Array.new(70) { |y| "#{y} #{scene[:textures][y % 12][number % 2_000, 200].unpack("C*").each_slice(8).map { |part| (part.sum * scene[:lights][y % 3]) % 256 }.join(" ")}\n" }
  end

  def trace(number, lines)
    lines.first(40).each_with_index.map { |line, y| "#{@name}, job #{number}, line #{y}: #{line.bytesize} bytes, starts with #{line[0, 60]}" } # LEAK
  end
end

2.times { |i| Thread.new { Renderer.new("renderer #{i}").work } } # LEAK
Load.run(160) do |n|
  SPACE.write([:job, n, n * 13 % SCENES.size])
  SPACE.take([:result, n - 5, nil]) if n > 5
end
