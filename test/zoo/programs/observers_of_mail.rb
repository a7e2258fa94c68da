# A service for newsletters sends its mails by the gem mail. Each batch registers an observer, which notes the mails
# of its batch that were delivered. The observer is not unregistered at the end of the batch, so Mail retains it, with
# the addresses and texts of the batch.
#
# kind: leak
# keeper: @@delivery_notification_observers, delivery_notification_observers, mail/mail.rb, Mail
# gems: mail 2.9.1
# rate: 370000
require_relative "../load"
require "mail"

class Delivery
  attr_reader :settings

  def initialize(settings) = @settings = settings
  def deliver!(mail) = mail.body.to_s.size
end

class BatchObserver
  attr_reader :delivered

  def initialize(batch)
    @batch = batch
    @delivered = 0
  end

  def delivered_email(mail)
    @delivered += 1 if @batch.key?(mail.to.first)
  end
end

Mail.defaults { delivery_method Delivery, {} }

def batch(number)
  Array.new(150) { |i| "reader-#{number}-#{i}@post-#{i % 12}.example" }
       .to_h { |address| [address, "Dear reader of our letter number #{number}, there is news about your subscription #{address.hash % 90_000}. #{"More of it soon. " * 12}"] } # LEAK
end

Load.run(6) do |n|
  letters = batch(n) # LEAK
  Mail.register_observer(BatchObserver.new(letters)) # LEAK KEEPER
  letters.first(3).each do |address, text|
    Mail.new(from: "letter@news.example", to: address, subject: "Letter #{n}", body: text).deliver
  end
  letters.each_value { |text| text.split.map(&:capitalize).join(" ") }
end
