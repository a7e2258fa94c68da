# A help desk watches a mailbox by IMAP, over one connection that is open for weeks. The server announces each changed
# mail by an untagged response, which comes with the answer to the next NOOP. Net::IMAP stores untagged responses until
# the program clears them. The help desk reads them in a handler and never clears them.
#
# kind: leak
# line: net/imap
# keeper: @responses, MAILBOX, Net::IMAP, net/imap
# gems: net-imap 0.5.12
# rate: 400000
require_relative "../load"
require "net/imap"
require "socket"

# A mail server with one mailbox, as far as the help desk needs one.
class MailServer
  attr_reader :port

  def initialize
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @mails = 0
    Thread.new { serve(@server.accept) }
  end

  private

  def serve(socket)
    socket.write("* OK [CAPABILITY IMAP4rev1] ready\r\n")
    while (line = socket.gets)
      tag, command, = line.split
      mails = command == "NOOP" ? Array.new(36) { mail(@mails += 1) } : []
      socket.write("#{mails.join}#{tag} OK done\r\n")
    end
  end

  def mail(number)
    from = "((\"Customer #{number % 9_000}\" NIL \"customer.#{number % 9_000}\" \"mail.example\"))"
    to = "((\"Help Desk\" NIL \"help\" \"shop.example\"))"
    envelope = "(\"Fri, 27 Nov 2026 03:#{10 + (number % 50)}:00 +0000\" \"Question #{number} about an order of last week\" #{from} #{from} #{from} #{to} NIL NIL NIL \"<#{number}.1@mail.example>\")"
    "* #{1 + (number % 500)} FETCH (UID #{number} FLAGS (\\Seen $Queue#{number % 7}) ENVELOPE #{envelope})\r\n"
  end
end

MAILBOX = Net::IMAP.new("127.0.0.1", port: MailServer.new.port, ssl: false)
NEWEST = Array.new(500)

MAILBOX.add_response_handler do |response|
  next unless response.is_a?(Net::IMAP::UntaggedResponse) && response.name == "FETCH"

  NEWEST[response.data.seqno % 500] = response.data.attr["ENVELOPE"].subject.upcase
end

Load.run(6) do |n|
  MAILBOX.noop # LEAK KEEPER
  NEWEST.compact.sort.last(200).map { |subject| "#{n}: #{subject.capitalize}" }.join("\n") if n % 2 == 0
end
