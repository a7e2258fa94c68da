# Large: a service notifies 310,000 devices. Its queue is an Array with the index of the next message, since that is
# faster than to shift. The Array is emptied when all messages are taken, but a message waits for half a second before
# it is taken, so that there is always one left.
#
# kind: leak
# keeper: @messages, QUEUE, ReadQueue
# starts: 7
# rate: 760000
require_relative "../load"

class ReadQueue
  def initialize
    @messages = []
    @next = 0
  end

  def push(message) = @messages << message # LEAK KEEPER
  def first = @messages[@next]
  def size = @messages.size - @next

  def shift
    message = first
    @next += 1
    return message if size > 0

    @messages.clear
    @next = 0
    message
  end
end

Device = Struct.new(:token, :owner, :settings, :quiet)
Message = Struct.new(:device, :at, :title, :text, :data)

QUEUE = ReadQueue.new
DEVICES = Array.new(310_000) do |i|
  channels = Array.new(2) { |k| "channels of device #{i}, part #{k}:#{" news on, offers off, warnings on, sound #{i % 30};" * 5}" }
  Device.new("token-#{i}-".ljust(260, (i * 7_919).to_s(36)), "owner #{i * 31 % 200_000} of a device with a long name, number #{i}", channels, i % 24)
end

def send_due(now)
  sent = []
  sent << QUEUE.shift while QUEUE.first && QUEUE.first.at < now - 0.5
  sent.map { |message| "#{message.device.token}\n#{message.title}\n#{message.text}\n#{message.data.map { |key, value| "#{key}=#{value}" }.join("&")}".unpack("a64a64a*").join("|") }
end

Load.run(900) do |n|
  device = DEVICES[n * 7_919 % DEVICES.size]
  data = { "article" => n % 9_000, "from" => "shop #{n % 70} in the old town, second floor on the left", "until" => n + 900 } # LEAK
  QUEUE.push(Message.new(device, Load.seconds, "News for #{device.owner}", "There is news number #{n} for you. #{"Please open the application to read it. " * 6}", data)) # LEAK
  send_due(Load.seconds)
  3.times { |i| DEVICES[n * 31 * (i + 1) % DEVICES.size].settings.map(&:capitalize).join("\n").tr("a-f", "A-F") }
end
