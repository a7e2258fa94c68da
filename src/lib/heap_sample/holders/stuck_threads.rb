# frozen_string_literal: true

module HeapSample
  # Threads that can never wake: they wait, without a time limit, for an object that nobody else has.  A walk tells them:
  # each place where some wait, what for, how many, and what they alone keep.
  module StuckThreads
    # +what+: "waits for Thread::Queue"; +path+ and +line+ of the code that waits; +threads+: how many; +space+: bytes, about.
    Place = Struct.new(:what, :path, :line, :threads, :space) do
      # JSON-ready.
      def to_h = {what: what, path: path, line: line, threads: threads, bytes: space}
    end

    module_function

    # Array of Place, of what a profile says; those that keep most first.
    def of(values)
      places = values.filter_map do |value|
        place = Place.new(*value.values_at("name", "path", "line", "threads", "space"))
        place if place.what.is_a?(String) && place.path.is_a?(String) && [place.line, place.threads, place.space].all? { |number| number.is_a?(Numeric) && number >= 0 }
      end
      places.sort_by.with_index { |place, index| [-place.space, -place.threads, index] }
    end

    # Lines of text about them; none where there are none.
    def lines(places, layout)
      return [] if places.empty?

      count = places.sum(&:threads)
      rows = places.map { |place| [layout.count(place.threads), layout.bytes(place.space), layout.name(place.what), where(place)] }
      [*layout.title("#{layout.count(count)} thread#{"s" unless count == 1} can never wake: nobody else has what they wait for."),
       *layout.table([["threads", :right], ["keep", :right], ["what", :left], ["at", :left]], rows)]
    end

    def where(place) = place.path.empty? ? Layout::NOTHING : HeapSample::Place.new(place.path, place.line, nil)
    private_class_method :where
  end
end
