# frozen_string_literal: true

require "zlib" # here: threads that require it at the same time are warned of

module HeapSample
  module Tool
    # Running processes, looked at for some time: a Series of each.  All are looked at in the same time.
    class Observing
      # Seconds between two profiles: before each there is a major GC if the share of the run time allows it.
      EVERY = 1.5

      # Did Ctrl-C end the look before its time?
      def interrupted? = @interrupted

      # What could not be asked, or not to the end: sentences.
      attr_reader :refused

      # +sources+: LiveProcess or LiveURL.  +asked+: how each is asked for a profile.
      def initialize(sources, seconds:, **asked)
        @seconds = seconds
        @asked = asked
        @refused = []
        @interrupted = false
        @profiles = sources.to_h { |source| [source, []] }.compare_by_identity
      end

      # An Array of Series.  Raises LiveProcess::Refused where none could be asked.
      def series
        found = by_source.values
        raise LiveProcess::Refused, refused.first if found.empty?

        refused.each { |sentence| Message.print(sentence) }
        found
      end

      # Source => Series, of those that could be asked.
      def by_source
        Progress.show("watching #{@profiles.keys.map(&:name).join(", ")} for #{format("%g", @seconds)} s") { |progress| look(progress) }
        @profiles.transform_values(&:dup).reject { |_, list| list.empty? }.to_h { |source, list| [source, Series.new(last_session(source, list))] }
      end

      private

      def look(progress)
        began, left, count = now, @profiles.keys, [(@seconds / EVERY).floor, 1].max
        (0..count).each do |index|
          rest = began + (@seconds * index / count) - now
          sleep(rest) if rest.positive?
          progress.at = "#{index + 1} of #{count + 1} profiles"
          left = left.map { |source| [source, Thread.new { ask(source, last: index == count) }] }.select { |_, asked| asked.value }.map(&:first)
          break if left.empty?
        end
      rescue Interrupt
        raise if @profiles.each_value.all?(&:empty?)

        # What is known so far counts.
        @interrupted = true
        @refused << "stopped after #{format("%.1f", now - began)} s of #{format("%g", @seconds)} s"
      end

      # May it be asked again?  One that was asked, and is not sampled just now, may be.
      def ask(source, last:)
        @profiles[source] << source.profile(**@asked)
      rescue LiveSocket::Declined => e
        again = !last && @profiles[source].any?
        @refused << e.message unless again
        again
      rescue LiveProcess::Refused => e
        @refused << e.message
        false
      end

      # Sampling may be stopped and started meanwhile.
      def last_session(source, profiles)
        found = profiles.chunk_while { |one, other| session_of(one) == session_of(other) }.to_a
        @refused << "#{source.name}: sampling was restarted; earlier profiles are left out" if found.size > 1
        found.last
      end

      def session_of(profile) = [profile.info.process_start, profile.info.session]

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
