# Large: a payment service has the accounts of 220,000 customers in memory. It stores each answer under the key of its
# request for five seconds, so that a repeated request gets the same answer. A Hash has its entries in the order in
# which their keys came first, and expired entries are removed from its front. The health check uses one key for ever.
# Its entry is always the first one and never too old, so nothing behind it is removed.
#
# kind: leak
# keeper: @answers, ANSWERS, Answers
# starts: 7
# rate: 1100000
require_relative "../load"
require "json"

class Answers
  KEPT = 5
  Answer = Struct.new(:at, :status, :headers, :body)

  def initialize = @answers = {}

  def fetch(key)
    remove_expired
    answer = @answers[key]
    return answer if answer && answer.at > Load.seconds - KEPT

    status, headers, body = yield
    @answers[key] = Answer.new(Load.seconds, status, headers, body) # LEAK KEEPER
  end

  private

  def remove_expired
    @answers.shift while @answers.any? && @answers.each_value.first.at < Load.seconds - KEPT - 1
  end
end

Account = Struct.new(:number, :owner, :address, :balance, :cards)

ANSWERS = Answers.new
ACCOUNTS = Array.new(220_000) do |i|
  cards = Array.new(3) { |k| "card #{k} of account #{i}, valid until #{1 + (i % 12)}/#{27 + (k % 4)}, limit #{i * k % 9_000} EUR#{", not to be used abroad" * 17}" }
  Account.new(i, "owner #{i * 7_919 % 180_000} of an account with a long name", "#{i % 250} Street of the #{i / 250}th house, #{"in the back yard, " * 15}third floor", i * 31 % 90_000, cards)
end

# Status, headers and body of the answer to a payment.
def pay(account, amount, number)
  headers = { "content-type" => "application/json", "x-request-id" => "request-#{number}-#{(number * 2_654_435_761).to_s(36)}", "x-account" => account.number.to_s } # LEAK
  lines = Array.new(8) { |i| { text: "line #{i} of payment #{number}: #{account.owner}", amount: amount * i, tax: amount * i % 19 } }
  account.balance -= amount
  [201, headers, JSON.generate({ payment: number, address: account.address, balance: account.balance, lines: lines })] # LEAK
end

checked = -1
Load.run(600) do |n|
  if Load.seconds.floor > checked
    checked = Load.seconds.floor
    ANSWERS.fetch("health") { [200, {}, "ok"] }
  end
  account = ACCOUNTS[n * 7_919 % ACCOUNTS.size]
  key = "#{account.number}/#{n}-#{(n * 2_654_435_761).to_s(36)}" # LEAK
  2.times { ANSWERS.fetch(key) { pay(account, n % 90, n) }.body.bytesize } # LEAK
end
