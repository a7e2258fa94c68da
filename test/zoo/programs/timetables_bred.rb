# Healthy: a school looks for a good timetable by breeding: 260 timetables are bred from those of the generation before, a few each tick, and
# take its place. Generation follows generation, so that nothing lives longer than two of them, save the best timetable.
#
# kind: steady
# also: bloat
# settles: 12
require_relative "../load"

Lesson = Struct.new(:group, :subject, :room, :hour, :note)

class Timetable
  attr_reader :lessons

  def self.drawn(random) = new(Array.new(900) { |i| Lesson.new(i % 45, i % 20, random.rand(60), random.rand(40), nil) })

  def initialize(lessons)
    @lessons = lessons.each { |one| one.note = "group #{one.group} has subject #{one.subject} in room #{one.room}, hour #{one.hour}" }
  end

  def cost
    @cost ||= lessons.group_by { |one| [one.room, one.hour] }.sum { |_, ones| (ones.size - 1)**2 } +
              lessons.group_by { |one| [one.group, one.hour] }.sum { |_, ones| (ones.size - 1)**2 }
  end

  def cross(other, random)
    cut = random.rand(lessons.size)
    child = (lessons.first(cut) + other.lessons.drop(cut)).map(&:dup)
    9.times { child[random.rand(child.size)].hour = random.rand(40) }
    Timetable.new(child)
  end
end

class Breeding
  SIZE = 260
  attr_reader :best

  def initialize
    @random = Random.new(11)
    @parents = Array.new(SIZE) { Timetable.drawn(@random) }
    @children = []
    @best = @parents.first
  end

  def step
    @children << parent.cross(parent, @random)
    @best = @children.last if @children.last.cost < @best.cost
    return if @children.size < SIZE

    @parents = @children
    @children = []
  end

  private

  def parent = Array.new(4) { @parents.sample(random: @random) }.min_by(&:cost)
end

BREEDING = Breeding.new
Load.run(90) do |n|
  BREEDING.step
  BREEDING.best.lessons.first(200).map(&:note).join("\n") if n % 30 == 0
end
