# A chat server speaks XMPP: what a client sends is one XML document that ends with the connection. Each message and
# each presence is an element below the root. The server deletes an element from the document when it has answered it,
# but only messages are answered. A presence stays in the document of its client.
#
# kind: leak
# line: rexml/
# keeper: @root, @children, CLIENTS, rexml/
# gems: rexml 3.4.1
# rate: 1170000
require_relative "../load"
require "rexml/document"

class Client
  def initialize(number)
    @number = number
    @root = REXML::Document.new("<stream xmlns='jabber:client' from='client-#{number}@chat.example' version='1.0'/>").root
    @status = nil
  end

  def receive(text)
    stanza = @root.add_element(REXML::Document.new(text).root) # LEAK KEEPER
    return answer(stanza) if stanza.name == "message"

    @status = stanza.elements["show"]&.text
  end

  private

  def answer(stanza)
    body = stanza.elements["body"].text
    @root.delete_element(stanza)
    "<message to='#{stanza.attributes["from"]}'><body>Received: #{body.upcase}</body></message>"
  end
end

CLIENTS = Array.new(60) { |i| Client.new(i) }
STATES = %w[away chat dnd xa].freeze
AVATARS = Array.new(90) { |i| [Random.new(i).bytes(3_000)].pack("m0") }.freeze

def presence(number)
  caps = Array.new(3) { |i| "<c node='https://client.example/#{i}' ver='#{(number * (i + 7_919)).to_s(36)}' hash='sha-1'/>" }
  "<presence from='user-#{number % 900}@chat.example/phone' id='p#{number}'><show>#{STATES[number % 4]}</show><status>on the way to place #{number}</status>" \
    "<priority>#{number % 9}</priority>#{caps.join}<photo>#{AVATARS[number % 90]}</photo></presence>"
end

def message(number) = "<message from='user-#{number % 900}@chat.example' id='m#{number}' type='chat'><body>This is message #{number} of today.</body></message>"

Load.run(140) do |n|
  client = CLIENTS[n * 7 % 60]
  client.receive(n % 5 == 0 ? message(n) : presence(n)) # LEAK
end
