# Large: a store of keys and values has 240,000 values in memory and copies its log to three followers. The log is cut
# in front of what all followers have acknowledged. One follower was taken out of service and is still on the list, so
# that the log is never cut. It has the values that were replaced in the meantime.
#
# kind: leak
# keeper: @log, LEADER, Leader
# starts: 7
# rate: 1180000
require_relative "../load"
require "zlib"

class Follower
  attr_reader :acknowledged

  def initialize(name, in_service: true)
    @name = name
    @in_service = in_service
    @acknowledged = 0
    @checksum = 0
  end

  def receive(entry)
    return unless @in_service

    @checksum = Zlib.crc32(entry.value, @checksum)
    @acknowledged = entry.index
  end
end

class Leader
  Entry = Struct.new(:index, :term, :key, :value)

  def initialize(values, followers)
    @values = values
    @followers = followers
    @log = []
    @index = 0
  end

  def set(key, value)
    entry = Entry.new(@index += 1, 3, key, value) # LEAK
    @log << entry # LEAK KEEPER
    @followers.each { |follower| follower.receive(entry) }
    @values[key] = value
    cut if @index % 500 == 0
  end

  def get(key) = @values[key]

  private

  def cut
    done = @followers.map(&:acknowledged).min
    @log.shift while @log.any? && @log.first.index <= done
  end
end

KEYS = Array.new(240_000) { |i| "user/#{i * 7_919 % 1_000_000}/settings" }

def settings(number, version)
  columns = Array.new(8) { |i| "\"column #{i} of #{(number + i) % 300}\"" }
  "{\"user\":#{number},\"version\":#{version},\"theme\":\"dark\",\"columns\":[#{columns.join(",")}],\"note\":\"#{"changed by hand; " * 80}\"}" # LEAK
end

LEADER = Leader.new(KEYS.each_with_index.to_h { |key, i| [key, settings(i, 0)] },
                    [Follower.new("replica-1"), Follower.new("replica-2"), Follower.new("replica-3", in_service: false)])

Load.run(650) do |n|
  place = n * 7_919 % 3_000 * 80 # the users of this day
  LEADER.set(KEYS[place], settings(place, n)) # LEAK
  LEADER.get(KEYS[n * 31 % KEYS.size]).tr("a-m", "A-M").sum
end
