# frozen_string_literal: true

module HeapSample
  # Threads and fibers that can never wake, as text.
  class StuckThreadsText
    # +places+: an Array of StuckThreads::Place.
    def initialize(places, layout)
      @places = places
      @layout = layout
    end

    # A title and a table; no lines if there are no such threads.
    def lines
      return [] if @places.empty?

      fibers, threads = @places.partition(&:fibers?).map { |some| some.sum(&:threads) }
      counts = [(amount(threads, "thread") if threads > 0), (amount(fibers, "fiber") if fibers > 0)].compact
      rows = @places.map { |place| [@layout.count(place.threads), @layout.bytes(place.space), @layout.name(place.what), where(place)] }
      [*@layout.title("Permanently blocked: #{counts.join(" and ")}. Nothing else refers to the objects that they wait for#{", but the program can stop the fibers" if fibers > 0}."),
       *@layout.table([["count", :right], ["retains", :right], ["what", :left], ["at", :left]], rows)]
    end

    private

    def amount(count, name) = "#{@layout.count(count)} #{name}#{"s" unless count == 1}"

    def where(place) = place.path.empty? ? Layout::NOTHING : Place.new(place.path, place.line, nil)
  end
end
