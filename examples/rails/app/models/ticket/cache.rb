# Remembers what was looked at, to show it again quickly. The leak of this example: an entry
# a request, under a key that is never asked for again, and nothing ever leaves.
class Ticket::Cache
  Entry = Struct.new(:key, :ticket_id, :alternatives)
  Alternative = Struct.new(:place, :cents)

  @entries = {}
  @lock = Mutex.new

  class << self
    def store(key, ticket, alternatives)
      entry = Entry.new(key, ticket.id, alternatives.map { |place, cents| Alternative.new(place.dup, cents) })
      @lock.synchronize { @entries[key] = entry }
    end

    def size = @entries.size
  end
end
