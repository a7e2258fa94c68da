# Healthy: a server takes each upload by a fiber, which waits for the next part of the file and has the parts so far
# in a local variable. Four of five uploads are complete after six parts. A client that goes away in the middle leaves
# its fiber waiting; a fiber that got no part for ten seconds is woken by an error, closes its file and ends.
#
# kind: steady
# settles: 14
require_relative "../load"
require "digest"

class Upload
  class Idle < StandardError; end

  attr_reader :heard

  def initialize(name, parts)
    @fiber = Fiber.new { receive(name, parts) }
    @fiber.resume
    @heard = Load.seconds
  end

  # What the fiber returns when the upload is complete.
  def part(text)
    @heard = Load.seconds
    @fiber.resume(text)
  end

  def close = @fiber.raise(Idle)

  private

  def receive(name, count)
    parts = []
    parts << Fiber.yield while parts.size < count
    "#{name}: #{parts.sum(&:bytesize)} bytes, #{Digest::SHA256.hexdigest(parts.join)}"
  rescue Idle
    parts.clear
    nil
  end
end

class Server
  SECONDS = 10

  attr_reader :complete, :closed

  def initialize
    @uploads = {}
    @complete = Hash.new(0)
    @closed = 0
  end

  def open(number, parts) = @uploads[number] = Upload.new("file #{number}", parts)

  def part(number, text)
    answer = @uploads[number]&.part(text)
    return unless answer

    @complete[answer[-2..]] += 1
    @uploads.delete(number)
  end

  def close_idle
    limit = Load.seconds - SECONDS
    idle = @uploads.select { |_, upload| upload.heard < limit }
    idle.each_value(&:close)
    idle.each_key { |number| @uploads.delete(number) }
    @closed += idle.size
  end
end

SERVER = Server.new
PARTS = 6

# About 18 KB.
def part(number, index) = "part #{index} of file #{number}: #{"what a client has to send, line by line, " * 440}"

# Sixty turns a second: an upload begins every second turn, and gets a part each third of a second.
Load.run(60) do |n|
  SERVER.open(n, PARTS) if n.even?
  PARTS.times do |index|
    number = n - (index * 20) - 1
    next if number < 1 || number.odd? || (number % 10 == 4 && index > 3)

    SERVER.part(number, part(number, index))
  end
  SERVER.close_idle if n % 30 == 0
end
