# frozen_string_literal: true

# What the trials of walks plant: objects, and strings with memory of malloc's, below a constant's array, a constant's hash, a
# struct and a block's variable.
require "objspace"

NAMES = ["Plant::LIST", "Plant::TABLE", "Plant::POINT", "@variable of module Plant"].freeze
RANDOM = Random.new(20_261_123)

class Small; end

class Large
  def initialize = @a = @b = @c = @d = @e = @f = @g = @h = nil
end

class Text < String; end

# Each holder is a box, which one container is put into for each trial: without the box all is gone.
module Plant
  LIST = []
  TABLE = []
  POINT = Struct.new(:box).new([])
  def self.variable
    box = []
    @variable ||= -> { box }
  end

  # No constant: that would hold them, too.
  def self.boxes
    NAMES.zip([LIST, TABLE, POINT.box, variable.call]).to_h
  end

  def self.fill
    boxes.each { |name, box| box[0] = name == "Plant::TABLE" ? {} : [] }
  end

  def self.add(box, object)
    container = box[0]
    container.is_a?(Hash) ? container[container.size] = object : container << object
  end
end

def text = Text.new(capacity: 1023) << "x" * 900 # malloc gives 1,024 bytes

def one
  case RANDOM.rand(10)
  when 0..5 then Small.new
  when 6..7 then Large.new
  else text
  end
end

# The first holders have more. Yields each object and the number of its holder.
def plant(count)
  Plant.fill
  boxes = Plant.boxes.values
  count.times do
    holder = (RANDOM.rand**2 * boxes.size).to_i
    Plant.add(boxes[holder], object = one)
    yield object, holder
  end
end

# In a thread of its own, whose stack is gone then: what is left behind on a stack is no garbage, for the walk and for GC.
def apart(&) = Thread.new(&).value
