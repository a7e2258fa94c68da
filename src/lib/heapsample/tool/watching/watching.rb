# frozen_string_literal: true

module HeapSample
  module Tool
    # Looks at a running process, again and again: its memory each time, and what has grown since the first profile.
    class Watching
      def initialize(process, **look)
        @process = process
        @layout = Layout.new(**look)
        @sort = :grew
        restart
      end

      # Growth counts from now on.
      def restart
        @first = @last = memory
        @growth = WatchGrowth.new(@process, @layout)
        @profiled = nil
      end

      # Ranks lines by the other figure.
      def sort
        names = WatchLook::SORTS.keys
        @sort = names[(names.index(@sort) + 1) % names.size]
      end

      # The next running Ruby that can be asked; this one, if there is no other, or if it is asked over HTTP.
      def switch
        return unless @process.is_a?(LiveProcess)

        others = LiveProcess.all.select { |process| process.listens? && process.pid != Process.pid }
        after, before = others.reject { |process| process.pid == @process.pid }.partition { |process| process.pid > @process.pid.to_i }
        [*after, *before].each do |process|
          @process = process
          return restart
        rescue LiveProcess::Refused
          next
        end
      end

      def look
        now = memory
        if @profiled.nil? || now[:at] - @profiled >= Observing::EVERY
          @growth.look
          @profiled = now[:at]
        end
        WatchLook.new(name: @process.name, now: now, before: @last, first: @first, growth: @growth, sort: @sort, layout: @layout).tap { @last = now }
      end

      private

      def memory = @process.memory.merge(at: Process.clock_gettime(Process::CLOCK_MONOTONIC))
    end
  end
end
