# A gateway signs the calls of its partners. For each contract that it is told of it makes a module with the contract's fields and extends
# its one client by it, instead of handing the contract over. The singleton class of the client has more and more ancestors.
#
# kind: leak
# rate: 390000
require_relative "../load"
require "digest"
require "json"

class Client
  def sign(body) = Digest::SHA256.hexdigest(contract.values.first(20).join + body)
  def contract = {}
end

CLIENT = Client.new

module Contracts
  def self.fields(number) = Array.new(200) { |i| [:"field_#{i}", "clause #{i} of the contract #{number}, version #{number % 7}, in force"] }.to_h # LEAK

  def self.adopt(number)
    fields = fields(number) # LEAK
    CLIENT.extend(Module.new { define_method(:contract) { fields } }) # LEAK KEEPER
  end
end

def call(number)
  body = JSON.generate(Array.new(220) { |i| { item: i, text: "position #{i} of call #{number}", amount: number * i % 1_000 } })
  CLIENT.sign(body) + JSON.parse(body).sum { |item| item["amount"] }.to_s
end

Load.run(1_000) do |n|
  Contracts.adopt(n / 70) if n % 70 == 0 # LEAK
  call(n)
end
