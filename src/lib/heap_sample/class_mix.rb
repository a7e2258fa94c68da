# frozen_string_literal: true

module HeapSample
  # The classes of a group, in a column and in a sentence.  Malloc is a class only
  # where there is no other: it has figures of its own.
  class ClassMix
    MALLOC = "(malloc)"
    LENGTH = 28

    # "Seat +3", of pairs of a name and bytes.
    def self.first_of(classes, layout)
      "#{layout.name(classes[0][0], LENGTH)}#{" +#{classes.size - 1}" if classes.size > 1}"
    end

    def initialize(profile, group, layout)
      @profile = profile
      @group = group
      @layout = layout
    end

    # "Seat 57% +3": the largest, its share, and how many there are beside it.
    def column
      (reference, space), *others = classes
      return "-" unless reference

      name = @layout.name(@profile.text(reference), LENGTH)
      return name if others.empty?

      "#{name} #{(space * 100 / (space + others.sum { |_, other| other })).round}% +#{others.size}"
    end

    # "`String`s", "objects, mostly `String`s", "objects of 3 classes".
    def sentence
      (reference, space), *others = classes
      return "objects" unless reference

      name = "`#{@layout.name(@profile.text(reference))}`s"
      return name if others.empty?

      space * 2 > space + others.sum { |_, other| other } ? "objects, mostly #{name}" : "objects of #{others.size + 1} classes"
    end

    private

    def classes
      @classes ||= begin
        all = @group.classes
        others = @group.malloc.zero? ? all : all.reject { |reference, _| @profile.text(reference) == MALLOC }
        others.empty? ? all : others
      end
    end
  end
end
