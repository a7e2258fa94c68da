# Each event is handled once: its number is put into a Set, which nobody empties. Integers are no objects: all that grows is
# the table of one Set.
#
# kind: leak
# tuned: yes
# also: native
# rate: 290000
# keeper: seen_events.rb
require_relative "../load"
require "set"

class Inbox
  SEEN = Set.new

  def handle(event)
    return if SEEN.include?(event[:id])
    SEEN << event[:id] # LEAK KEEPER
    event[:body].upcase
  end
end

inbox = Inbox.new
Load.run(100) { |n| 60.times { |k| inbox.handle({ id: n * 1_000 + k, body: "event" }) } }
