# Large: a chain of hotels has its 150,000 rooms in memory. A unit of work dumps each room before it is changed, so
# that a rollback can restore it. The dumps are under the number of their transaction. A commit removes them. A
# rollback restores the rooms from them and leaves the dumps where they are. A third of the payments is declined, and
# each of these bookings is rolled back.
#
# kind: leak
# keeper: @originals, UNIT_OF_WORK, UnitOfWork
# starts: 6
# rate: 1100000
require_relative "../load"

Room = Struct.new(:number, :title, :description, :nights, :price)

class UnitOfWork
  def initialize
    @originals = {}
  end

  def transaction(number)
    @originals[number] = {}.compare_by_identity # KEEPER
    yield ? commit(number) : rollback(number)
  end

  # The room as it was before this transaction, if it is changed for the first time.
  def touch(number, room)
    @originals[number][room] ||= Marshal.dump(room) # LEAK
  end

  private

  def commit(number) = @originals.delete(number)

  def rollback(number)
    @originals[number].each do |room, bytes|
      original = Marshal.load(bytes)
      room.members.each { |member| room[member] = original[member] }
    end
  end
end

def night(room, day) = "night #{day}: room #{room} is free, the bed is made and the window is closed"
def room(number) = Room.new(number, "Room #{number}", "Room #{number} has #{"a view of the lake and of the old town, " * 16}and a bath", Array.new(12) { |day| night(number, day) }, 80 + (number % 90))

ROOMS = Array.new(150_000) { |number| room(number) }
UNIT_OF_WORK = UnitOfWork.new

Load.run(90) do |n|
  rooms = Array.new(12) { |i| ROOMS[((n * 12) + i) * 7_919 % ROOMS.size] }
  UNIT_OF_WORK.transaction(n) do
    rooms.each do |one|
      UNIT_OF_WORK.touch(n, one) # LEAK
      one.nights = one.nights.each_with_index.map { |text, day| day == n % 12 ? "night #{day}: booked by guest #{n} of room #{one.number}, who pays by card" : text }
      one.price += 1
    end
    n % 3 > 0
  end
end
