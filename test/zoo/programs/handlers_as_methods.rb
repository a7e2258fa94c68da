# Large: the program of a sorting plant knows all parcels that are announced. A parcel that is on the belt listens to its gate by a Method
# object. To stop, the gate looks for the handler that is the same object as the one given; a method asked for again is another object.
#
# kind: leak
# keeper: @handlers, GATES
# starts: 8
# rate: 1020000
require_relative "../load"

class Gate
  attr_reader :released

  def initialize
    @handlers = []
    @released = 0
  end

  def listen(handler) = @handlers << handler # LEAK KEEPER
  def ignore(handler) = @handlers.delete_if { |one| one.equal?(handler) }

  def release(belt)
    @released += 1
    @handlers.each { |handler| handler.call(belt) }
  end
end

class Parcel
  attr_reader :label

  def initialize(number)
    @number = number
    @label = "parcel #{number} for #{"street of the plant " * 8}#{number % 190}, #{10_000 + (number * 37 % 80_000)} town #{number % 4_000}, weight #{number % 30_000} g" # LEAK
    @customs = Array.new(3) { |i| "item #{i} of parcel #{number}: #{"declared as samples " * 4}#{number * i % 900} cents" } # LEAK
    @belts = nil
  end

  def enter(gate) = gate.listen(method(:released)) # LEAK
  def leave(gate) = gate.ignore(method(:released))
  def released(belt) = @belts = belt
end

GATES = Array.new(3_200) { Gate.new }
ANNOUNCED = Array.new(480_000) { |i| Parcel.new(i) }

Load.run(1_000) do |n|
  parcel = Parcel.new(480_000 + n) # LEAK
  gate = GATES[n * 7 % GATES.size]
  parcel.enter(gate) # LEAK
  gate.release(n % 12)
  parcel.leave(gate)
  24.times { |i| ANNOUNCED[(n * 31 * (i + 1)) % ANNOUNCED.size].label.split(/, /).map(&:capitalize).join("\n") }
end
