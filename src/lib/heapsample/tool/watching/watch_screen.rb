# frozen_string_literal: true

require "io/console"
require "io/wait"

module HeapSample
  module Tool
    # What is watched, on a terminal: drawn anew at each look, and obeying keys.
    class WatchScreen
      # The screen that programs may draw on, without a cursor; and back.
      ENTER = "\e[?1049h\e[?25l"
      LEAVE = "\e[?25h\e[?1049l"
      HOME = "\e[H"
      LINE_END = "\e[K\r\n"
      REST = "\e[J"
      # Of a terminal that does not know its size, as in a container that was entered without one; and of a very small one.
      LINES_USUAL = 24
      LINES_LEAST = 5
      KEYS = "p pause · s sort · r reset growth · n next process · q quit"

      def initialize(watching, input, output)
        @watching = watching
        @input = input
        @output = output
        @paused = false
      end

      def run(every:, seconds: nil)
        @output.write(ENTER)
        began = now
        @input.raw(intr: true) do
          loop do
            draw(@watching.look) unless @paused
            break if obey(every) == :quit || (seconds && now - began > seconds)
          end
        end
      ensure
        @output.write(LEAVE)
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def height = @output.winsize.first.then { |lines| lines.zero? ? LINES_USUAL : lines }

      def draw(look)
        lines = [*look.to_s.lines(chomp: true).first([height - 2, LINES_LEAST].max), KEYS]
        @output.write(HOME, lines.map { |line| line + LINE_END }.join, REST)
        @output.flush
      end

      # Waits for the next look, or for a key.
      def obey(every)
        return unless @input.wait_readable(every)

        case @input.getc
        when "q", "\u0003", nil then :quit
        when "p" then @paused = !@paused
        when "r" then @watching.restart
        when "s" then @watching.sort
        when "n" then @watching.switch
        end
      end
    end
  end
end
