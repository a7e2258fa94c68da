# A library shows each warning once. It remembers the texts in a Set in a class variable, and the texts contain the number of the request.
#
# kind: leak
# keeper: Deprecation
# rate: 250000
require_relative "../load"
require "set"

class Deprecation
  @@shown = Set.new

  def self.warn(text, place)
    message = "DEPRECATED: #{text} (called from #{place})" # LEAK
    report(message) if @@shown.add?(message) # LEAK KEEPER
  end

  def self.report(message) = message.bytesize
end

class Endpoint
  def initialize(number) = @number = number

  def answer
    8.times { |i| Deprecation.warn("option #{i} of request #{@number}", "app/controllers/orders_controller.rb:#{10 + i}, with parameters id=#{@number}&page=#{i}") } # LEAK
    rows = Array.new(80) { |i| { id: i, title: "order #{i} of request #{@number}" } }
    rows.map { |row| "<tr><td>#{row[:id]}</td><td>#{row[:title]}</td></tr>" }.join
  end
end

Load.run(120) { |n| Endpoint.new(n).answer } # LEAK
