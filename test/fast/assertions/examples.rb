# frozen_string_literal: true

# Code that the suites assert on: some of it keeps what it makes.
module Examples
  KEPT = []

  def self.megabytes(count) = ("m" * (count << 20)).size

  class Shop
    def initialize
      @recent = {}
    end

    # Makes much and keeps nothing.
    def work
      lines = Array.new(100) { |number| "line #{number}" }
      lines.map(&:upcase).grep(/5/) { |line| line.center(80) }.join("\n").size
    end

    # Keeps three, and the last, and one for all.
    def visit(id)
      @recent[id] = "visitor #{id}" * 20
      @recent.shift while @recent.size > 3
      @last = Object.new
      @sign ||= "welcome" * 100
    end

    def fails
      raise ArgumentError, "no such order"
    rescue ArgumentError => e
      e.full_message(highlight: false)[/order/]
    end
  end
end
