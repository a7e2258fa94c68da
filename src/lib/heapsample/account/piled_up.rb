# frozen_string_literal: true

module HeapSample
  # Threads or fibers that pile up: how many more there are than in the first profile of a series, all the memory that was allocated
  # with them, what they retain, and what they wait for.
  class PiledUp
    # A smaller part of the growth of RSS is not named.
    PART_LEAST = 0.03

    # +kind+: :threads or :fibers.
    def initialize(series, kind)
      @kind = kind
      @infos = series.infos.select(&:alive)
      @walk = series.walked
    end

    # Array of sentences.
    def sentences(layout)
      @layout = layout
      [memory, retained, *waits].compact
    end

    # How many there were in the first profile, and are in the last.
    def counts = [@infos.first, @infos.last].map { |info| info.alive[@kind].count }

    # Bytes by which RSS and its parts grew meanwhile, the parts largest first; empty if that is not known.
    def growth
      first, last = [@infos.first, @infos.last].map(&:account)
      return {} unless first&.rss && last&.rss

      {"rss" => last.rss - first.rss, **last.since(first).sort_by { |_, bytes| -bytes }.to_h}
    end

    # Bytes of what was allocated since the first profile, to which the last walk found references of threads and fibers alone.
    def retained_bytes = @retained_bytes ||= (@walk ? held.sum(&:space) : 0)

    # StuckThreads::Places of this kind, and which object they wait for: "@inbox of Worker", or nil.
    def waiting = @walk ? @walk.info.walk.stuck.select { |place| place.fibers? == (@kind == :fibers) }.map { |place| [place, object(place)] } : []

    private

    def memory
      parts = growth
      rss = parts.delete("rss").to_i
      return unless rss.positive?

      named = parts.select { |_, bytes| bytes >= PART_LEAST * rss }.map { |name, bytes| "#{@layout.bytes(bytes)} #{Account::PARTS.fetch(name)}" }
      before, now = counts
      "With #{@layout.count(now - before)} more #{@kind} (#{@layout.count(before)} → #{@layout.count(now)}) RSS grew by #{@layout.bytes(rss)}: #{named.join(", ")}."
    end

    def retained = ("They retain #{@layout.bytes(retained_bytes)} of objects (heap walk)." if retained_bytes.positive?)

    def waits
      waiting.map do |place, object|
        what = place.what.sub(/\A(?:fiber )?waits for /, "")
        "#{@layout.count(place.threads)} of them wait for #{Printable.code(@layout.name(what))}#{" (#{Printable.code(@layout.name(object))})" if object}" \
          "#{" at #{@layout.subject(Place.new(place.path, place.line, nil))}" unless place.path.empty?}, and nothing else refers to it."
      end
    end

    def held
      since = @infos.first.gc_count.to_i
      @held ||= @walk.holders.select { |one| one.row[Columns::ALLOCATION_GC].to_i >= since && Roots.threads?(@walk.holders.path(one.node).first.name) }
    end

    # The reference that the program wrote, by which most of these threads have what they wait for.
    def object(place)
      edges = held.select { |one| place.what.end_with?(" #{one.class_name}") }.group_by { |one| @walk.holders.path(one.node).last }
      edges.select { |edge, _| edge.written? }.max_by { |_, all| all.sum(&:objects) }&.first&.name
    end
  end
end
