# A staging server delivers its mail by :test, and Mail::TestMailer.deliveries keeps each message.
#
# kind: leak
# tuned: yes
# line: mail/
# keeper: mail/network/delivery_methods/test_mailer.rb, deliveries, mail/message.rb
# gems: mail 2.9.1
require_relative "../load"
require "logger"
require "mail"
Mail.defaults { delivery_method :test }

def welcome(number)
  Mail.deliver do # LEAK KEEPER
    from "shop@example.com"
    to "customer#{number}@example.com" # LEAK
    subject "Order #{number}" # LEAK
    body "Thank you for your order.\n" * 20 # LEAK
  end
end

Load.run(25) { |n| welcome(n) }
