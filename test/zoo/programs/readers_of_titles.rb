# A library has the titles of 2.4 million books in an Array of Strings. To show who reads what, each loan is appended to a list that is
# an instance variable of the title's String. Nobody takes a loan out of it when the book comes back.
#
# kind: leak
# keeper: @loans, TITLES
# starts: 3
# rate: 1000000
require_relative "../load"

SUBJECTS = %w[bridges gardens rivers engines comets islands looms glaciers].freeze
TITLES = Array.new(2_400_000) { |i| "On the #{SUBJECTS[i % 8]} of the #{i % 700}th district, and on what was found there in the year #{1500 + (i % 520)}; volume #{i}" }

Loan = Struct.new(:card, :name, :from, :note)

module Desk
  module_function

  def loans(title) = title.instance_variable_get(:@loans) || title.instance_variable_set(:@loans, []) # LEAK

  def lend(number)
    title = TITLES[(number * 7_919) % 60_000]
    loans(title) << Loan.new("card #{number}", "reader #{number % 9_000}", Load.seconds, "#{title[0, 30]} lent at the desk #{number % 4} until the Friday of week #{number % 52}") # LEAK KEEPER
    title
  end

  def find(number, word)
    TITLES[number * 311 % 1_990_000, 1_500].grep(/#{word}.*year #{1500 + (number % 52)}/).map { |title| title.upcase.split("; ") }
  end
end

Load.run(2_500) do |n|
  Desk.lend(n).size # LEAK
  Desk.find(n, SUBJECTS[n % 8]) if n % 4 == 0
end
