# A program loads parts of Ruby's library and of gems when they are first used: one every two seconds for half a minute.
# It has all of its code then, and grows no more.
#
# kind: steady
# tuned: yes
# also: bloat
# gems: rouge 5.1.0, kramdown 2.5.2, prawn 2.5.0, mail 2.9.1, liquid 5.14.0
require_relative "../load"
PARTS = %w[json set time erb csv net/http openssl optparse psych rexml/document kramdown rouge liquid mail prawn].freeze

def use(part) = require(part)

used = 0
Load.run(80) do |n|
  use(PARTS[(used += 1) - 1]) if used < PARTS.size && Load.seconds > used * 2
  Array.new(100) { |i| "<li>#{n} #{i}</li>" }.join
end
