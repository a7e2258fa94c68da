# Large: a bank loads its accounts at the start, into a Struct that is its whole state. A member of it has the reversal of each posting, for
# the case that the posting is refused within a day; nothing removes those of yesterday.
#
# kind: leak
# keeper: refusable, BANK
# starts: 5
# rate: 870000
require_relative "../load"

Account = Struct.new(:number, :owner, :balance, :statement)
Reversal = Struct.new(:from, :to, :cents, :text, :references)
Bank = Struct.new(:accounts, :rates, :refusable)

def account(number)
  Account.new("DE#{number * 97}", { name: "owner #{number}", born: 1940 + (number % 60), street: "street #{number % 2_000}", mails: ["owner#{number}@mail.example"] }, 100_000,
              Array.new(8) { |i| "#{1 + i}.#{1 + (number % 12)}. transfer of #{number % 900},#{10 + i} EUR to account #{(number * 31) + i}, reference #{number * i}".ljust(240) })
end

BANK = Bank.new(Array.new(110_000) { |i| account(i) }, { "EUR" => 1.0, "USD" => 1.1 }, {})

def post(line, number)
  from, to, cents, text = line.split(";")
  payer, payee = BANK.accounts[from.to_i], BANK.accounts[to.to_i]
  payer.balance -= cents.to_i
  payee.balance += cents.to_i
  BANK.refusable[number] = Reversal.new(payee.number, payer.number, cents.to_i, "reversal of #{text}", Array.new(6) { |i| "#{payer.owner[:name]} ref #{number}/#{i}" }) # LEAK KEEPER
  [payer, payee].map { |one| page(one) }.join
end

def page(account)
  rows = account.statement.map do |entry|
    day, *words = entry.split
    "<tr><td>#{day}</td><td>#{words.join(" ").gsub(/\d+/) { |digits| digits.rjust(6, "0") }}</td></tr>"
  end
  "<h1>#{account.owner[:name]}</h1><table>#{rows.join("\n")}</table>"
end

Load.run(1_000) { |n| post("#{n * 13 % 110_000};#{n * 29 % 110_000};#{n % 5_000};transfer number #{n} for the rent of month #{n % 12}", n) } # LEAK
