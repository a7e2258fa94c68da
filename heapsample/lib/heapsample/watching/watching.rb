# frozen_string_literal: true

module HeapSample
  module Tool
    # Looks at a running process, again and again: its memory each time, and what has grown since the first profile.
    class Watching
      # A profile is dearer than a look at the memory: one in so many looks.
      PROFILE_EACH = 5
      ROWS = 10

      # What there was to see at one moment.
      Look = Struct.new(:at, :process, :memory, :before, :seconds, :rows, :layout, :sampled) do
        def rss = memory[:account]&.rss
        def grew = (rss - before[:account].rss if rss && before[:account]&.rss)

        def to_h
          {at: at.utc.strftime("%Y-%m-%dT%H:%M:%SZ"), process: process, seconds: seconds.round(1), rss_bytes: rss, grew_bytes: grew,
           account: memory[:account]&.to_h, threads: memory[:alive]&.threads&.count,
           grown: rows.map { |row| {line: row.name, grew_bytes: row.grew} }}
        end

        def to_s = layout.text([title, layout.table(parts_head, parts), lines]).chomp

        private

        def title
          threads = memory[:alive]&.threads&.count
          growth = "#{layout.bytes(grew || 0, sign: true)} in #{layout.duration(seconds)}"
          layout.title("#{at.utc.strftime("%H:%M:%S")} #{process}: RSS #{layout.bytes(rss || 0)}, #{growth}#{", threads: #{threads}" if threads}")
        end

        def parts_head = [["bytes", :right], ["since you look", :right], ["where", :left]]

        def parts
          now, start = memory[:account], before[:account]
          changes = now.since(start)
          now.parts.select { |_, bytes| bytes.positive? }.map { |name, bytes| [layout.bytes(bytes), changes[name] ? layout.bytes(changes[name], sign: true) : "?", Account::PARTS[name]] }
        end

        def lines
          return layout.sentence(sampled) if sampled
          return layout.sentence("No line has grown since you look.") if rows.empty?

          layout.table([["grew", :right], ["line", :left]], rows.map { |row| [layout.bytes(row.grew, sign: true), row.name] })
        end
      end

      Row = Struct.new(:name, :grew)

      def initialize(process, width:, style:, root: nil)
        @process = process
        @layout = Layout.new(width: width, style: style, root: root)
        @root = root
        @looks = 0
        restart
      end

      # Growth counts from now on.
      def restart
        @before = @process.memory
        @began = now
        @first = nil
        @rows = []
      end

      def look
        memory = @process.memory
        read_profile if (@looks % PROFILE_EACH).zero? || @first.nil?
        @looks += 1
        Look.new(Time.now, @process.name, memory, @before, now - @began, sorted, @layout, @unsampled)
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def sorted = @rows.sort_by.with_index { |row, index| [-row.grew, index] }.first(ROWS)

      def read_profile
        profile = @process.profile
        @unsampled = nil
        return @first = profile unless @first

        @rows = grown(profile)
      rescue LiveProcess::Refused => e
        @unsampled = e.message
      end

      def grown(profile)
        (profile - @first).groups(:line).filter_map do |group|
          Row.new(@layout.place(group.key), group.space) if group.space >= 1
        end
      end
    end
  end
end
