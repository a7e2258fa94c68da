# frozen_string_literal: true

module HeapSample
  # What pins the objects that hold free memory of heap pages, so that GC.compact cannot move them: a heap walk finds it.  A page
  # with one such object stays, however empty it is.
  module Pins
    # +name+ and +kind+ of the reference that pins, as an Edge has them; +path+ and +line+ where the code stands that has it;
    # +class_name+ of the objects; +holder+: names of the references that retain what pins, the root first; +made+: the Place of
    # the line that made the objects, or nil; +estimate+ of the free memory.
    Pin = Struct.new(:name, :kind, :path, :line, :class_name, :holder, :made, :estimate) do
      # In a few words, what it is that pins.
      def by
        return "nothing now" if name == GONE
        return "a machine stack" if kind == "stack" && name.start_with?("C stack")
        return "an object in C" if kind == "data" && name.start_with?("data of")

        WORDS.fetch(kind, RUNNING.include?(kind) ? "running code" : "the VM")
      end

      # The reference: an Edge.
      def edge = Edge.new(name, kind, path, line)

      # JSON-ready.
      def to_h
        {by: by, **edge.to_h, class: class_name, holder: holder, made: made && {path: made.path, line: made.line, label: made.label}, **estimate.to_h}.compact
      end
    end

    # Kinds of references that pin.
    WORDS = {"address" => "a variable of C code", "key" => "a Hash that compares by identity",
             "shared" => "an object that shares its memory", "root" => "the VM", OTHERS = "others" => "others"}.freeze
    RUNNING = %w[local stack self block environment].freeze
    # Names that are in no file: the pin of the last major GC is gone; pins too small for the room in the file.
    GONE = "(no pin any more)"

    module_function

    # Array of Pin, from the values of a profile; the largest first.
    def of(values) = values.filter_map { |value| pin(value) }.sort_by.with_index { |pin, index| [-pin.estimate.space, index] }

    # Sums by reference, whatever lines allocated the objects; the line is the one with the most memory.
    def by_reference(pins)
      sums = pins.group_by { |pin| [pin.edge.key, pin.class_name, pin.holder] }.map do |_, same|
        most = same.max_by { |pin| pin.estimate.space }
        most.dup.tap { |sum| sum.estimate = Estimate.sum(same.map(&:estimate)) }
      end
      sums.sort_by.with_index { |pin, index| [-pin.estimate.space, index] }
    end

    def pin(value)
      figures = value.values_at("samples", "objects", "free", "var")
      return unless figures.all? { |figure| figure.is_a?(Numeric) && figure >= 0 } && figures[2] > 0

      texts = value.values_at("name", "kind", "path").map { |text| text.is_a?(String) ? text : "" }
      return Pin.new("(others)", OTHERS, "", 0, nil, [], nil, estimate(*figures)) if texts.first.empty?

      line, made_line = value.values_at("line", "made_line").map { |number| number.is_a?(Integer) ? number : 0 }
      holder = value["holder"].is_a?(Array) ? value["holder"].grep(String) : []
      made = Place.new(value["made_path"], made_line, value["made_in"]) if value["made_path"].is_a?(String)
      Pin.new(*texts, line, (value["class"] unless value["class"].to_s.empty?), holder, made, estimate(*figures))
    end

    def estimate(samples, objects, space, variance) = Estimate.new(samples, objects, space, variance, variance * (objects / space.to_f)**2)

    private_class_method :pin, :estimate
  end
end
