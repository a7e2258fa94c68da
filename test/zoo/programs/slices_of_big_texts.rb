# The title of each mail is kept, as a slice of the mail: the slice shares the text, so that 20 KB are kept for 60 bytes.
#
# kind: leak
# rate: 990000
require_relative "../load"

class Inbox
  TEXT = ("a line of the mail, which has some length, and says little\n" * 350).freeze

  def initialize = @titles = []

  def receive(number)
    mail = "mail #{number}\n#{TEXT}\nSubject: #{"the title of mail #{number} " * 5}" # LEAK
    @titles << mail[mail.rindex("Subject:")..] # LEAK KEEPER
    mail.lines.size
  end
end

INBOX = Inbox.new
Load.run(40) { |n| INBOX.receive(n) } # LEAK
