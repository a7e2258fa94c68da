# frozen_string_literal: true

require_relative "../../examples"

class DemoTest < ExampleTest
  test "the demo ends with the verdict, the line, what retains it, the rate, the next command and the page" do
    last = example("demo", {}).lines.last(6).map(&:strip)
    leak = line_of("@orders[id] = ", "demo/leaky.rb")
    # On a busy machine the work is not even, and growth is called no leak yet.
    [/\A(?:Leak \((?:confirmed|likely)\)|Grows \(certain\))/, /\ALine: +\S*leaky\.rb:#{leak}\b/, /\ARetained by: +@orders of class Ticket::Cache\z/, /\ARate: +\+/, /\ANext: /,
     %r{\APage: +build/demo/leaky\.html\z}].zip(last) { |wanted, line| assert_match wanted, line }
    assert_operator File.size("#{TOP}/build/demo/leaky.html"), :>, 100_000
  end
end
