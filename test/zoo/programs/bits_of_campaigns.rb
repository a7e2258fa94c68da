# Large: a service sends mail to 480,000 subscribers, whom it has in memory. Who opened the mail of a campaign is a bit in one big Integer,
# which each opening replaces by a new one. The Integers of campaigns that are over stay in the table.
#
# kind: leak
# keeper: @opened, OPENINGS
# starts: 8
# rate: 850000
require_relative "../load"

Subscriber = Struct.new(:address, :notes)

class Openings
  def initialize = @opened = Hash.new(0)
  def open(campaign, number) = @opened[campaign] |= 1 << number # LEAK KEEPER
  def opened?(campaign, number) = @opened[campaign][number] == 1
end

SUBSCRIBERS = Array.new(480_000) do |i|
  Subscriber.new("subscriber.#{i}@mail-#{i % 90}.example.org", "#{"likes offers of garden tools, " * 16}joined in #{1990 + (i % 30)}, city #{i * 37 % 9_000}")
end
OPENINGS = Openings.new

def page(number, subscriber)
  words = subscriber.notes.split(", ")
  "<h1>Hello #{subscriber.address.split("@").first.capitalize}</h1>#{words.tally.map { |word, count| "<li>#{word} (#{count})</li>" }.join}<p>#{number}</p>"
end

# Fifteen campaigns a second, and thirty openings of each.
Load.run(450) do |n|
  campaign = n / 30
  number = (n * 7_919_003) % SUBSCRIBERS.size
  OPENINGS.open(campaign, number) # LEAK
  30.times { |i| page(n, SUBSCRIBERS[(number + i) % SUBSCRIBERS.size]) unless OPENINGS.opened?(campaign, number + i + 1) }
end
