# Healthy: an inbox is read by long polls. A poll waits in the list of its mailbox until a message comes, and is
# answered with no message after 12 seconds. Polls of browsers that were closed are never answered by a message, so the
# list grows until the first of them are too old. Each poll has its request and the page that it renders.
#
# kind: steady
# settles: 13
require_relative "../load"

Poll = Struct.new(:number, :deadline, :headers, :page) do
  def answer(messages) = "#{page.first}<ul>#{messages.map { |message| "<li>#{message}</li>" }.join}</ul>"
end

class Mailbox
  def initialize = @waiting = []

  def wait(poll) = @waiting << poll

  # The polls that got the message.
  def deliver(message)
    answered = @waiting
    @waiting = []
    answered.each { |poll| poll.answer([message]) }.size
  end

  # Polls wait in the order of their deadlines.
  def expire(now)
    @waiting.shift.answer([]) while @waiting.first && @waiting.first.deadline < now
  end
end

class Inbox
  SECONDS = 12

  def initialize
    @mailboxes = Hash.new { |mailboxes, user| mailboxes[user] = Mailbox.new }
    @swept = Load.seconds
  end

  def poll(user, poll)
    @mailboxes[user].wait(poll)
    sweep if Load.seconds - @swept > 0.5
  end

  def deliver(user, message) = @mailboxes[user].deliver(message)

  private

  def sweep
    @swept = Load.seconds
    @mailboxes.each_value { |mailbox| mailbox.expire(@swept) }
  end
end

INBOX = Inbox.new

def poll(number)
  headers = { "cookie" => "session=#{number * 2_654_435_761 % 4_294_967_296}", "user-agent" => "Browser/#{number % 40}", "accept" => "text/html", "x-request" => "poll #{number}" }
  page = Array.new(9) { |i| "<section id='#{i}'>part #{i} of page #{number}: #{"the mails of last week are in the archive, " * 14}</section>" }
  Poll.new(number, Load.seconds + Inbox::SECONDS, headers, page)
end

# Messages come for 120 of the 1,500 users.
Load.run(420) do |n|
  INBOX.poll(n * 7 % 1_500, poll(n))
  INBOX.deliver(n * 31 % 120, "message #{n}: are you at home at #{n % 24}?") if n % 3 == 0
end
