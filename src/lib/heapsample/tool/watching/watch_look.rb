# frozen_string_literal: true

module HeapSample
  module Tool
    # What there was to see of a running process at one moment, and what changed since.
    class WatchLook
      # A line of code: its name, bytes that it grew by since the start, bytes that it allocates in a second (nil: not known yet).
      Row = Struct.new(:name, :grew, :allocated)
      # How rows can be ranked.
      SORTS = {grew: "growth", allocated: "allocation"}.freeze
      ROWS = 10

      # +now+, +before+, +first+: results of LiveProcess#memory now, at the look before, and at the start; each with
      # the second when it did, as :at.  +growth+: WatchGrowth.
      def initialize(name:, now:, before:, first:, growth:, sort:, layout:)
        @name = name
        @time = Time.now
        @now = now
        @before = before
        @first = first
        @growth = growth
        @sort = sort
        @layout = layout
      end

      def rss = @now[:account]&.rss
      def grew = (rss - @first[:account].rss if rss && @first[:account]&.rss)
      def seconds = @now[:at] - @first[:at]
      def threads = @now[:alive]&.threads&.count

      # The share of the time since the previous look that GC took; nil if GC time is not measured.
      def gc_share
        spent, since = difference(:ns), @now[:at] - @before[:at]
        spent / 1e9 / since if spent && since.positive?
      end

      # GCs since the look before.
      def gcs = difference(:count)

      # The same as one JSON object.
      def to_h
        {at: @time.utc.strftime("%Y-%m-%dT%H:%M:%SZ"), process: @name, seconds: seconds.round(1), rss_bytes: rss, grew_bytes: grew,
         verdict: @growth.verdict, account: @now[:account]&.to_h, threads: threads, gcs: gcs, gc_share: gc_share&.round(4), allocated_bytes_per_second: @growth.allocated&.round,
         grown: rows.map { |row| {line: row.name, grew_bytes: row.grew, allocated_bytes_per_second: row.allocated&.round} }}
      end

      def to_s = @layout.text([title, @growth.verdict ? @layout.sentence(@growth.verdict) : [], @layout.table(PARTS_HEAD, parts), lines]).chomp

      private

      PARTS_HEAD = [["bytes", :right], ["since start", :right], ["where", :left]].freeze
      ROWS_HEAD = [["grew", :right], ["allocates", :right], ["line", :left]].freeze
      private_constant :PARTS_HEAD, :ROWS_HEAD

      def difference(key)
        now, before = [@now, @before].map { |memory| memory[:gc]&.fetch(key, nil) }
        now - before if now && before
      end

      def title
        growth = "#{@layout.bytes(grew || 0, sign: true)} in #{@layout.duration(seconds)}"
        @layout.title(["#{@time.utc.strftime("%H:%M:%S")} #{@name}: RSS #{@layout.bytes(rss || 0)}, #{growth}", *rates].join(", "))
      end

      def rates
        [("threads: #{threads}" if threads), ("allocates #{@layout.bytes(@growth.allocated)} a second" if @growth.allocated),
         ("GC #{format("%.1f", gc_share * 100)}% of the time" if gc_share)].compact
      end

      def parts
        now = @now[:account]
        changes = now.since(@first[:account])
        now.parts.select { |_, bytes| bytes.positive? }.map do |name, bytes|
          [@layout.bytes(bytes), changes[name] ? @layout.bytes(changes[name], sign: true) : "?", Account::PARTS[name]]
        end
      end

      def rows
        @growth.rows.select { |row| (@sort == :grew ? row.grew : row.allocated.to_f) >= 1 }
               .sort_by.with_index { |row, index| [-row[@sort].to_f, index] }.first(ROWS)
      end

      def lines
        return @layout.sentence(@growth.missing) if @growth.missing
        return @layout.sentence("No line has grown since the command started.") if rows.empty?

        @layout.table(ROWS_HEAD, rows.map { |row| [@layout.bytes(row.grew, sign: true), row.allocated ? "#{@layout.bytes(row.allocated)}/s" : "", row.name] })
      end
    end
  end
end
