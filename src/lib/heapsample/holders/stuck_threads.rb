# frozen_string_literal: true

module HeapSample
  # Permanently blocked threads and fibers: they wait, without a time limit, for an object that nothing else refers to.  A heap
  # walk finds them: each place where some wait, what for, how many, and what only they retain.  The fibers belong to a
  # Fiber::Scheduler, which retains them.
  module StuckThreads
    # +what+: "waits for Thread::Queue"; +path+ and +line+ of the code that waits; "fiber waits for …" of fibers; +threads+: how many; +space+: bytes, about.
    Place = Struct.new(:what, :path, :line, :threads, :space) do
      def fibers? = what.start_with?("fiber ")

      # JSON-ready.
      def to_h = {what: what, path: path, line: line, threads: threads, bytes: space}
    end

    module_function

    # Array of Place, from the values of a profile; the ones that retain most first.
    def of(values)
      places = values.filter_map do |value|
        place = Place.new(*value.values_at("name", "path", "line", "threads", "space"))
        place if place.what.is_a?(String) && place.path.is_a?(String) && [place.line, place.threads, place.space].all? { |number| number.is_a?(Numeric) && number >= 0 }
      end
      places.sort_by.with_index { |place, index| [-place.space, -place.threads, index] }
    end
  end
end
