# frozen_string_literal: true

module HeapSample
  # What pins objects that hold free memory of heap pages, as text.
  class PinsText
    ROWS = 8
    SENTENCE = 3

    # +pins+: an Array of Pins::Pin.
    def initialize(pins, layout)
      @pins = Pins.by_reference(pins)
      @layout = layout
    end

    # A title and a table; no lines if there are no pins.
    def lines
      return [] if @pins.empty?

      rows = @pins.first(ROWS).map do |pin|
        [@layout.size(pin.estimate), @layout.interval(pin.estimate), pin.by, pin.class_name || Layout::NOTHING, made(pin), ->(room) { @layout.name(named(pin), room) }]
      end
      total = Estimate.sum(@pins.map(&:estimate))
      [*@layout.title("Pinned part of it, which GC.compact cannot move: #{@layout.size(total)} #{@layout.bracketed(total)}, by what pins it:"),
       *@layout.table([["bytes", :right], ["95% interval", :right, 1], ["pinned by", :left], ["class", :left, 2], ["allocated at", :left, 3], ["reference", :left]], rows),
       *@layout.more(@pins.size - ROWS)]
    end

    # "Free memory … that pinned objects hold: 8.0 MiB by an object in C: data of Parser (…), 0.4 MiB by …."
    def sentence
      parts = @pins.first(SENTENCE).map { |pin| "#{@layout.size(pin.estimate)} by #{pin.by}: #{named(pin)}" }
      "GC.compact cannot free this memory of heap pages, because objects there are pinned: #{parts.join("; ")}."
    end

    private

    # Without the method: the reference is what is asked for.
    def made(pin) = pin.made ? @layout.place(Place.new(pin.made.path, pin.made.line, nil)) : Layout::NOTHING

    def named(pin)
      whose = " (#{pin.holder.last})" if pin.holder.size > 1 && Edge.new(pin.name, pin.kind).generic?
      "#{[pin.name, *(@layout.place(pin.edge.place) if pin.edge.place)].join(" ")}#{whose}"
    end
  end
end
