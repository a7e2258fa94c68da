# A seed job asks Faker for values that are unique. Faker keeps each that it ever gave in a Set. The mended program clears it.
#
# kind: leak
# tuned: yes
# line: faker/
# keeper: faker/, faker_unique_generator_previous_results
# gems: faker 3.8.0
# mended: faker 3.8.0
require_relative "../load"
require "faker"

def customer(number)
  code = Faker::Alphanumeric.unique.alphanumeric(number: 300) # LEAK KEEPER
  Faker::UniqueGenerator.clear if ENV["ZOO_MENDED"] == "1" && number % 200 == 0
  code.size
end

Load.run(400) { |n| customer(n) } # LEAK
