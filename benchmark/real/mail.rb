# Mail writes multipart messages with an attachment and reads them again.
# Usage: ruby mail.rb MESSAGES
require "mail"

ATTACHMENT = Random.new(1).bytes(6_000)

def message(number)
  Mail.new do
    from "Sender <sender#{number % 10}@example.org>"
    to ["Reader Ä. <reader#{number}@example.org>", "second@example.org"]
    cc "copies@example.org"
    subject "Order #{number}: größer und schöner"
    message_id "<#{number}@example.org>"
    text_part do
      content_type "text/plain; charset=UTF-8"
      body "Hello,\n\nyour order #{number} is on its way – ünterwegs.\n" * 20
    end
    html_part do
      content_type "text/html; charset=UTF-8"
      body "<p>Hello,</p><p>your order <b>#{number}</b> is on its way.</p>\n" * 20
    end
    add_file filename: "order-#{number}.bin", content: ATTACHMENT
  end
end

Integer(ARGV[0]).times do |number|
  text = message(number).to_s
  read = Mail.new(text)
  good = read.subject == "Order #{number}: größer und schöner" && read.to == ["reader#{number}@example.org", "second@example.org"] &&
         read.attachments.first.decoded.b == ATTACHMENT && read.text_part.decoded.include?("order #{number} is")
  raise "message #{number} came back changed:\n#{text}" unless good
end
