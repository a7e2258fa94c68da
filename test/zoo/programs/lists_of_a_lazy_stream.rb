# A feed of short messages leaves out the senders of a block list. The list is published anew several times a second.
# The feed is a lazy Enumerator, and each new list rejects from the stream that the lists before have rejected from,
# so that all lists are retained.
#
# kind: leak
# keeper: @stream, FEED, Feed, Enumerator::Lazy
# rate: 1450000
require_relative "../load"

class Feed
  Message = Struct.new(:sender, :text)

  def initialize
    @messages = Array.new(800) { |i| message(i) }
    @stream = @messages.each.lazy
  end

  def add(number) = @messages[number % @messages.size] = message(number)
  def block(list) = @stream = @stream.reject { |one| list.include?(one.sender) } # LEAK KEEPER
  def page(count) = @stream.first(count).map { |one| "#{one.sender}: #{one.text.capitalize}" }.join("\n")

  private

  def message(number) = Message.new("sender #{number * 7_919 % 60_000}", "message #{number} on a fine day " * 3)
end

FEED = Feed.new

# A Hash from the name of each blocked sender to the reason.
def block_list(version) = Array.new(3_000) { |i| "sender #{((version / 40) + (i * 17)) % 60_000}" }.to_h { |name| [name, "reported #{name.sum % 9} times, list #{version}"] } # LEAK

Load.run(40) do |n|
  FEED.add(n)
  FEED.block(block_list(n)) if n % 12 == 0 # LEAK
  FEED.page(15)
  Array.new(300) { |i| "statistics #{n}: #{i}" }.join(",").tr("a-m", "A-M")
end
