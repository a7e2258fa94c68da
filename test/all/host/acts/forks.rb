# frozen_string_literal: true

# Children that print, exit, are killed, or leave by exit!.
class Forks < Act
  def call
    Array.new(1 + @random.rand(3)) do
      number, way = @random.rand(100), @random.rand(4)
      in_child do
        at_exit { puts "at_exit" }
        puts Array.new(1000) { |n| "x" * (n % 50) }.sum(&:size) + number
        $stdout.flush
        [-> { exit(number) }, -> { exit!(number) }, -> { Process.kill(:TERM, Process.pid) && sleep }, -> { raise SignalException, "INT" }][way].call
      end
    end.join("; ")
  end
end
