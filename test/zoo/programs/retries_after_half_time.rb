# Nothing grows at first. From four tenths of the run on, a provider refuses some messages, and the mailer puts each into a
# list of retries that nothing works off, although the provider would take them.
#
# kind: leak
# starts: 40%
# rate: 100000
# every: 10
require_relative "../load"

class Mailer
  def initialize = @retries = []

  def send_mail(number)
    text = Array.new(20) { |i| "line #{i} of mail #{number}" }
    @retries << { to: "user-#{number}@example.org", text: text } if refused?(number) # LEAK KEEPER
    text.join("\n").size
  end

  private

  def refused?(number) = Load.seconds > 0.4 * Load::SECONDS && number % 3 == 0
end

MAILER = Mailer.new
Load.run(150) { |n| MAILER.send_mail(n) } # LEAK
