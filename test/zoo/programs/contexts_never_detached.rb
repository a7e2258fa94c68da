# A consumer of a message queue attaches an OpenTelemetry context for each message, with the baggage of its sender. It
# skips messages that it has seen before, and leaves the block before it detaches the context. The stack of contexts
# belongs to the fiber of the consumer and grows by each skipped message.
#
# kind: leak
# line: opentelemetry/context
# keeper: @opentelemetry_context, opentelemetry_context, opentelemetry/context, Fiber
# gems: opentelemetry-api 1.5.0
# rate: 400000
require_relative "../load"
require "opentelemetry"

Message = Struct.new(:number, :baggage, :lines)

class Consumer
  BAGGAGE = OpenTelemetry::Context.create_key("baggage")
  MESSAGE = OpenTelemetry::Context.create_key("message")

  def initialize(queue)
    @queue = queue
    @last_seen = {}
  end

  def run
    loop { handle(@queue.pop) } # LEAK
  end

  private

  def handle(message)
    context = OpenTelemetry::Context.current.set_values(BAGGAGE => message.baggage, MESSAGE => message) # LEAK
    token = OpenTelemetry::Context.attach(context) # LEAK KEEPER
    return if seen?(message)

    work(message)
    OpenTelemetry::Context.detach(token)
  end

  # Each sender numbers its messages. A message that is not newer than the last one of its sender was sent again.
  def seen?(message)
    sender = message.baggage["sender"]
    newest = @last_seen[sender] || 0
    @last_seen[sender] = [newest, message.number].max
    message.number <= newest
  end

  def work(message)
    sender = OpenTelemetry::Context.current[BAGGAGE]["sender"]
    message.lines.map { |line| "#{sender}: #{line.upcase}" }.sort.join("\n").sum
  end
end

# As it arrives: every fifth message is an older one that is sent again.
def message(number)
  sent = number % 5 == 0 ? number - 40 : number
  baggage = Array.new(10) { |i| ["key-#{i}", "value #{i} of message #{sent}, set by the front server #{number % 12} of the shop"] }.to_h # LEAK
  baggage["sender"] = "sender #{number % 4}"
  Message.new(sent, baggage, Array.new(18) { |i| "line #{i} of message #{sent}: article #{sent * 31 % 9_000}, #{i * sent % 97} pieces, to be sent" }) # LEAK
end

QUEUE = Thread::Queue.new
CONSUMER = Thread.new { Consumer.new(QUEUE).run }

Load.run(450) { |n| QUEUE << message(n) } # LEAK
