# Large: a service has the bookings of its hotels in a binary tree, in the order of their days. A booking that is
# moved to another day is replaced by a copy with the new day. The tree is asked to remove the copy and not the
# booking, does not find it, and has both from then on.
#
# kind: leak
# keeper: @root, @left, @right, BOOKINGS
# starts: 7
# rate: 1600000
require_relative "../load"

class Booking
  include Comparable
  attr_reader :day, :number, :guest, :wishes

  def initialize(day, number, guest, wishes)
    @day = day
    @number = number
    @guest = guest
    @wishes = wishes
  end

  def self.made(day, number)
    wishes = Array.new(2) { |i| "wish #{i} of #{number}: a room at the side of the #{i.odd? ? "sea" : "garden"}, floor #{number % 9}; " * 6 }
    new(day, number, "guest #{number} of #{"the family of the " * 3}#{number % 4_000}th house", wishes)
  end

  def moved_to(day) = Booking.new(day, number, "#{guest}, moved", wishes.map { |wish| "#{wish} (asked again)" }) # LEAK

  def <=>(other)
    days = day <=> other.day
    days.zero? ? number <=> other.number : days
  end
end

class Bookings
  Node = Struct.new(:booking, :left, :right)

  # Of bookings in their order.
  def initialize(sorted) = @root = balanced(sorted, 0, sorted.size - 1)

  def insert(booking)
    node = @root
    loop do
      side = booking < node.booking ? :left : :right
      break node[side] = Node.new(booking) unless node[side] # LEAK KEEPER

      node = node[side]
    end
  end

  # Removes a booking that has at most one neighbour below it, and marks it as gone otherwise.
  def delete(booking)
    above, node = nil, @root
    until node.nil? || (node.booking <=> booking).zero?
      above = node
      node = booking < node.booking ? node.left : node.right
    end
    return unless node && above && !(node.left && node.right)

    above[above.left.equal?(node) ? :left : :right] = node.left || node.right
  end

  # The first bookings from a day on.
  def from(day, most)
    node, path, found = @root, [], []
    while node
      path << node if node.booking.day >= day
      node = node.booking.day >= day ? node.left : node.right
    end
    while found.size < most && (node = path.pop)
      found << node.booking
      node = node.right
      while node
        path << node
        node = node.left
      end
    end
    found
  end

  private

  def balanced(sorted, from, to)
    return if from > to

    middle = (from + to) / 2
    Node.new(sorted[middle], balanced(sorted, from, middle - 1), balanced(sorted, middle + 1, to))
  end
end

COUNT = 300_000
DAYS = 1_000_000.0 # a day has parts, for the hour of the arrival
BOOKINGS = Bookings.new(Array.new(COUNT) { |i| Booking.made(i * DAYS / COUNT, i) })
RANDOM = Random.new(7)

Load.run(1_000) do |n|
  booking = BOOKINGS.from(RANDOM.rand * DAYS, 1).first or next
  moved = booking.moved_to(RANDOM.rand * DAYS) # LEAK
  BOOKINGS.delete(moved)
  BOOKINGS.insert(moved) # LEAK
  BOOKINGS.from(RANDOM.rand * DAYS, 10).map { |one| "#{one.number}: #{one.guest}, #{one.wishes.first}".upcase }.join("\n") if n.even?
end
