# frozen_string_literal: true

# Each act of foreign.c by itself, in a process of its own, then all of them.
# Usage: FOREIGN=FOREIGN.SO LIBRARIES=FOLDER ruby --heap-sample=output=none,malloc=64 foreign.rb      foreign.c, compiled with -DIN_RUBY
require "fiddle"
require "timeout"
require_relative "../../testing"
require_relative "../malloc/charged"

LIBRARY = Fiddle.dlopen(ENV.fetch("FOREIGN"))
FOLDER = ENV.fetch("LIBRARIES")
FOREIGN = Fiddle::Function.new(LIBRARY["foreign"], [Fiddle::TYPE_LONG, Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT],
                               Fiddle::TYPE_LONG)
NAME = Fiddle::Function.new(LIBRARY["foreign_act"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOIDP)

# With the GVL on the main thread, on a thread and in a fiber; two more threads are not Ruby's.
def everywhere(times, act)
  [FOREIGN.call(times, 1, 2, FOLDER, act), Thread.new { FOREIGN.call(times, 2, 2, FOLDER, act) }.value,
   Fiber.new { FOREIGN.call(times, 3, 2, FOLDER, act) }.resume].all?(&:positive?)
end

# The status of a child that does it, which is killed after 100 s.
def status_of(&block)
  pid = fork { exit!(block.call ? 0 : 1) }
  Timeout.timeout(100) { Process.wait2(pid).last }
rescue Timeout::Error
  Process.kill(:KILL, pid)
  Process.wait2(pid).last
end

class ForeignStacksTest < Test
  names = (0..).lazy.map { |number| NAME.call(number) }.take_while { |name| !name.null? }.map(&:to_s).to_a
  names.each_with_index do |name, act|
    test "Ruby goes on after malloc was sampled: #{name}" do
      status = status_of { everywhere(900, act) }
      assert_predicate status, :success?
    end
  end

  test "Ruby goes on after all of them, and frames are found on a coroutine's stack" do
    status = status_of do
      everywhere(6000, -1)
      rows = Charged.rows.select { |row| row.kind == :malloc && row.function == "probe" }
      rows.any? && rows.any? { |row| row.functions.include?("coroutine") }
    end
    assert_predicate status, :success?
  end
end
