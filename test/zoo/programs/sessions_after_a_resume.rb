# Large: a game server has 22,000 regions of its world in memory, and sends what happens to its players by websockets. A
# session retains what was sent lately, so that it can be sent again if a player's network fails. The player then
# resumes: a new session with a new key takes over the messages. The old session stays in the table of sessions.
#
# kind: leak
# keeper: @sessions, SESSIONS, @sent
# starts: 6
# rate: 2800000
require_relative "../load"
require "securerandom"

class Session
  LIMIT = 60

  attr_reader :key, :sent

  def initialize(player, sent = [])
    @player = player
    @key = SecureRandom.hex(12) # LEAK
    @sent = sent
  end

  def send_message(text)
    @sent << text
    @sent.shift if @sent.size > LIMIT
  end
end

class Sessions
  def initialize = @sessions = {}

  def size = @sessions.size
  def fetch(key) = @sessions.fetch(key)

  def open(player) = add(Session.new(player))

  def resume(player, key)
    add(Session.new(player, @sessions.fetch(key).sent.dup)) # LEAK
  end

  private

  def add(session)
    @sessions[session.key] = session # LEAK KEEPER
  end
end

Region = Struct.new(:name, :height, :things)
REGIONS = Array.new(22_000) do |i|
  things = Array.new(24) { |k| "thing #{k} in region #{i}: #{"a stone wall with moss on the side of the river, " * 8}#{i * k % 977}" }
  Region.new("region #{i}", i * 31 % 900, things)
end

SESSIONS = Sessions.new
keys = Array.new(600) { |i| SESSIONS.open("player #{i}").key }

def news(number)
  region = REGIONS[number * 7_919 % REGIONS.size]
  "news #{number} from #{region.name}: #{region.things[number % 24]} #{"was moved by the player #{number * 31 % 600}; " * 40}" # LEAK
end

# Each second about 25 players lose the network and resume.
Load.run(1_700) do |n|
  player = n * 7 % keys.size
  SESSIONS.fetch(keys[player]).send_message(news(n))
  next unless n % 68 == 0

  lost = n / 68 * 7 % keys.size
  keys[lost] = SESSIONS.resume("player #{lost}", keys[lost]).key # LEAK
end
