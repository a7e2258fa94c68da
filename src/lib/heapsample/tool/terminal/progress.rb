# frozen_string_literal: true

module HeapSample
  module Tool
    # Shows what takes time, on a terminal's last line, once it has taken a
    # second; then clears it.
    class Progress
      SILENT = 1
      STEP = 0.25

      # call-seq:
      #   Progress.show("reading x", io: $stderr) { |progress| … }
      def self.show(what, io: $stderr)
        progress = new(what, io)
        progress.start
        yield progress
      ensure
        progress&.stop
      end

      def initialize(what, io)
        @what = what
        @io = io
      end

      # "12 of 40", or what it is at now.
      attr_writer :at

      def start
        return unless @io.tty?

        @started = now
        @thread = Thread.new do
          sleep SILENT
          loop do
            print_line
            sleep STEP
          end
        end
        @thread.report_on_exception = false
      end

      def stop
        return unless @thread

        @thread.kill.join
        @io.print("\r\e[K") if @printed
      end

      private

      def print_line
        @printed = true
        text = Printable.text("#{@what}#{": #{@at}" if @at} (#{(now - @started).floor} s)")
        @io.print("\r\e[K#{text[0, Terminal.new(@io).width - 1]}")
      end

      def now
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
