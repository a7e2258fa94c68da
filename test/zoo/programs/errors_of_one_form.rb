# An import checks the rows of price lists with one form of Active Model. It adds the errors of each row to the form itself, whose errors
# are only cleared by valid?, which nobody calls.
#
# kind: leak
# line: active_model/error
# keeper: @errors, FORM, PriceForm, active_model/
# gems: activemodel 8.0.2
# rate: 174000
require_relative "../load"
require "active_model"

class PriceForm
  include ActiveModel::Model
  attr_accessor :article, :price, :currency

  def check(row, line)
    errors.add(:price, "is not a number in line #{line}: #{row["price"]}", line: line, article: row["article"]) unless row["price"].match?(/\A\d+\.\d\d\z/) # LEAK KEEPER
    errors.add(:currency, :inclusion, value: row["currency"], line: line) unless %w[EUR USD CHF].include?(row["currency"]) # LEAK
    row["price"].to_f
  end
end

FORM = PriceForm.new

def price_list(number)
  rows = Array.new(270) do |i|
    price = i % 130 == 7 ? "#{number},#{i}0" : format("%d.%02d", number % 300, i % 100)
    "article #{number}-#{i};#{price};#{i % 170 == 3 ? "GBP" : "EUR"};#{"lorem ipsum " * 4}"
  end
  "article;price;currency;text\n#{rows.join("\n")}"
end

def import(number)
  sum = 0
  price_list(number).lines.drop(1).each_with_index do |text, line|
    row = %w[article price currency text].zip(text.chomp.split(";")).to_h # LEAK
    sum += FORM.check(row, line) # LEAK
  end
  sum
end

Load.run(90) { |n| import(n) } # LEAK
