# frozen_string_literal: true

# Many threads that live for a moment, some of which fork or raise.
class SessionsOfThreads < Act
  def call
    sum = Array.new(20 + @random.rand(60)) { |index| Thread.new { Array.new(index * 10) { "x#{index}" }.size } }.sum(&:value)
    "#{sum}, #{Thread.new { raise "ends" }.then { |thread| thread.join rescue "raised" }}, #{Thread.new { in_child { puts "from a thread" } }.value}"
  end
end
