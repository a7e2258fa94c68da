# A consumer thread adds payments to arrays in a Hash, which is a local variable of its loop. The keys are a shop and a minute, and
# the minutes of the past stay in the Hash.
#
# kind: leak
# keeper: totals, CONSUMER
# rate: 1600000
require_relative "../load"

Payment = Struct.new(:shop, :minute, :cents, :reference)
PAYMENTS = Thread::Queue.new

CONSUMER = Thread.new do
  totals = {}
  while (payment = PAYMENTS.pop)
    (totals[[payment.shop, payment.minute]] ||= []) << payment # LEAK KEEPER
    totals[[payment.shop, payment.minute]].sum(&:cents)
  end
end

Load.run(1500) do |n|
  reference = "payment #{n} of terminal #{n % 90}, authorized by #{n * 31 % 1009}: #{"receipt line #{n} " * 40}" # LEAK
  PAYMENTS << Payment.new("shop-#{n % 60}", n / 1500, n % 10_000, reference) # LEAK
  Array.new(4) { |i| "terminal #{i}: #{n}" }.join
end
PAYMENTS.close
CONSUMER.join
