# frozen_string_literal: true

require_relative "../../examples"

class DemoTest < ExampleTest
  test "the demo ends with the verdict, the line, what retains it, the rate, the next command and the page" do
    last = example("demo", {}).lines.last(6).map(&:strip)
    leak = line_of("@orders[id] = ", "demo/leaky.rb")
    [/\ALeak \((?:confirmed|likely)\)/, /\ALine: +\S*leaky\.rb:#{leak}\b/, /\ARetained by: +@orders of class Ticket::Cache\z/, /\ARate: +\+/, /\ANext: /,
     %r{\APage: +build/demo/leaky\.html\z}].zip(last) { |wanted, line| assert_match wanted, line }
    assert_operator File.size("#{TOP}/build/demo/leaky.html"), :>, 100_000
  end
end
