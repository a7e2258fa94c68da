# Large: a social network has its 100,000 members in memory. Each member has a Set of friends, and friends have each
# other. A member who leaves is removed from the table and clears the own Set, but stays in the Sets of the friends.
#
# kind: leak
# keeper: @friends, MEMBERS, Member
# starts: 7
# rate: 1160000
require_relative "../load"
require "set"

class Member
  attr_reader :number, :friends

  def initialize(number)
    @number = number
    @name = "member #{number} of the family #{number * 7_919 % 40_000}"
    @about = "I am number #{number} and live in town #{number % 900}. #{"I like long walks and old songs. " * 22}" # LEAK
    @posts = Array.new(6) { |i| "post #{i} of member #{number}: #{"a picture of the garden in the morning; " * 4}#{number * i % 977} likes" } # LEAK
    @friends = Set.new
  end

  def befriend(other)
    @friends << other # LEAK KEEPER
    other.friends << self # LEAK KEEPER
  end

  def news(most) = @friends.first(most).map(&:newest)
  def newest = "#{@name}: #{@posts.last}"
  def leave = @friends.clear
end

COUNT = 100_000
RANDOM = Random.new(11)
MEMBERS = Array.new(COUNT) { |i| Member.new(i) }
MEMBERS.each { |member| 6.times { member.befriend(MEMBERS[RANDOM.rand(COUNT)]) } }

# A new member takes the place of one who leaves.
def replace(place, number)
  MEMBERS[place].leave
  MEMBERS[place] = Member.new(number) # LEAK
  12.times { MEMBERS[place].befriend(MEMBERS[RANDOM.rand(COUNT)]) } # LEAK
end

Load.run(300) do |n|
  replace(RANDOM.rand(COUNT), COUNT + n) # LEAK
  MEMBERS[RANDOM.rand(COUNT)].news(6).map(&:upcase).join("\n")
end
