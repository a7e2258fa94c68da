# frozen_string_literal: true

module HeapSample
  # The classes of a group, in a column and in a sentence.  Malloc is a class where it
  # is most of the group, because blocks must not look like objects of the largest class.
  # Else it is left out, as it has figures of its own.
  class ClassMix
    MALLOC = "(malloc)"
    LENGTH = 28
    # To which a column is cut before it makes room altogether.
    LEAST = 16

    # "Seat +3", of pairs of a name and bytes.
    def self.first_of(classes, layout)
      classes = shown(classes)
      "#{layout.name(classes[0][0], LENGTH)}#{" +#{classes.size - 1}" if classes.size > 1}"
    end

    # "`String`", "blocks of malloc".
    def self.mostly(name, layout)
      name == MALLOC ? "blocks of malloc" : "`#{layout.name(name)}`"
    end

    # Pairs of a class and bytes, the largest first, without malloc where it is not most
    # of all; the block gives the name of a class.
    def self.shown(classes)
      malloc, others = classes.partition { |name, _| (block_given? ? yield(name) : name) == MALLOC }
      most = malloc.sum { |_, space| space.abs } * 2 > classes.sum { |_, space| space.abs }
      most || others.empty? ? malloc + others : others
    end

    def initialize(profile, group, layout)
      @profile = profile
      @group = group
      @layout = layout
    end

    # "Seat 57% +3": the largest, its share, and how many others there are.
    def column
      (reference, space), *others = classes
      return "-" unless reference

      name = @layout.name(@profile.text(reference), LENGTH)
      return name if others.empty?

      "#{name} #{(space * 100 / (space + others.sum { |_, other| other })).round}% +#{others.size}"
    end

    # "`String`s", "objects, mostly `String`s", "objects of 3 classes".
    def sentence
      (reference, space), *others = objects
      return "objects" unless reference

      name = "`#{@layout.name(@profile.text(reference))}`s"
      return name if others.empty?

      space * 2 > space + others.sum { |_, other| other } ? "objects, mostly #{name}" : "objects of #{others.size + 1} classes"
    end

    private

    # Of the column.
    def classes
      @classes ||= ClassMix.shown(@group.classes) { |reference| @profile.text(reference) }
    end

    # Of the sentence, which is about objects.
    def objects
      all = @group.classes
      all.reject { |reference, _| @profile.text(reference) == MALLOC }.then { |some| some.empty? ? all : some }
    end
  end
end
