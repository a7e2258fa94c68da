# frozen_string_literal: true

# A mail gateway that fragments its memory. It holds a day's messages until they are delivered, all in one go;
# one in twenty is kept, for the complaints department. What is left lies scattered: nearly every run of pages
# that malloc cut into messages, and every page of Ruby's heap, holds a survivor or two and cannot be given back.

Message = Struct.new(:id, :text)

class Gateway
  KEPT_ONE_IN = 20

  attr_reader :kept

  def initialize
    @kept = []
  end

  def receive(count)
    Array.new(count) { |id| Message.new(id, "message #{id} ".ljust(860, "lorem ipsum ")) }
  end

  def deliver(messages)
    messages.each { |message| @kept << message if (message.id % KEPT_ONE_IN).zero? }
    messages.clear
  end
end

count = Integer(ARGV.fetch(0, 300_000))
gateway = Gateway.new
gateway.deliver(gateway.receive(count))
GC.start
bytes = gateway.kept.sum { |message| message.text.bytesize }
puts "retained: #{bytes} bytes of text in #{gateway.kept.size} of #{count} messages"
