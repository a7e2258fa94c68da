# frozen_string_literal: true

module HeapSample
  # The schema of a row, declared here and nowhere else in Ruby: the reader and the writer of files, Row,
  # grouping, filters, merging and the HTML view follow from it.
  #
  # A row is an Array in the order of this list, which is that in which the sampler hands rows over
  # (C declares the same list for itself).  Each column has a constant that is its index:
  # Columns::INUSE_SPACE.  An estimate is four columns in a row: samples, objects, space (bytes) and
  # variance (of space); PARTS has the first of the four of each.
  #
  # To add a column: a line at the end of this list, one in C's, one in doc/format.md.
  module Columns
    @all = []

    class << self # :nodoc: all
      private

      def column(name, holds, **options)
        @all << HeapSample::Column.new(name, @all.size, holds, **options)
      end

      # +places+: those of the four columns among a file's values; nil of what no file tells.
      def estimate(part, places, **aliases)
        values = [["samples", "count", "samples"], ["objects", "count", "objects"], ["space", "bytes", "space"], ["variance", "bytes2", "var"]]
        values.zip(places) do |(field, unit, type), place|
          column(:"#{part}_#{field}", :sum, merge: :add, unit: unit, value: ("#{part}_#{type}" if place), place: place,
                                            aliases: aliases.fetch(field.to_sym, []))
        end
      end
    end

    # What tells rows apart.
    column :stack, :stack, merge: :same
    column :class, :text, merge: :same, group: true, label: "class", place: 0, aliases: ["allocation class"]
    column :type, :text, merge: :same, group: true, label: "type", place: 1, aliases: ["ruby vm type"]
    # Bytes; 0 of malloc.
    column :slot_size, :number, merge: :same, label: "slot_size", unit: "bytes", place: 4
    # Serial of the thread that allocated; 0 of several.
    column :thread, :number, merge: :drop, label: "thread", unit: "count", place: 6
    # The GC count when the objects were born; nil if the row has totals only.
    column :birth_gc, :number, merge: :age, label: "gc_birth", unit: "count", place: 5, absent: nil

    # Objects that the last completed mark found alive; blocks that are allocated now.
    estimate :inuse, [4, 2, 3, 6], objects: %w[heap-live-samples inuse-objects objects],
                                   space: %w[heap-live-size heap-space inuse-space space]
    # Objects born since that mark.
    estimate :young, [nil, 8, 9, nil]
    # Everything born since sampling started.
    estimate :alloc, [5, 0, 1, 7], objects: %w[alloc-samples], space: %w[alloc-space]
    # Of these, what was found dead, or freed.
    estimate :dead, [23, 10, 11, 24]
    # GCs survived by the dead, summed over objects.
    column :dead_gcs, :sum, merge: :add, unit: "count", value: "dead_gcs", place: 12

    # Base name of the file whose code called malloc; "" if it is not known, or the row is of slots.
    column :library, :text, merge: :same, group: true, label: "library", place: 3, since: 2
    # Is the row of memory that malloc gave, not of slots?
    column :malloc, :flag, merge: :same, label: "kind", place: 2, since: 2, absent: false
    # Bytes of the slots in use with what their objects hold outside; 0 unless asked for.
    column :memsize, :sum, merge: :add, unit: "bytes", value: "inuse_memsize", place: 21
    # Bytes of what is in use that the kernel has in memory; where a file does not tell, all of it.
    column :resident, :sum, merge: :add, unit: "bytes", value: "inuse_resident", place: 22, absent: :inuse_space
    # Free bytes of heap pages, in equal parts to the objects in use on each: their sum, its variance, and
    # that part of it which objects hold that GC.compact must not move.
    column :holds_free, :sum, merge: :add, unit: "bytes", value: "holds_free", place: 25
    column :holds_free_variance, :sum, merge: :add, unit: "bytes2", value: "holds_free_var", place: 26
    column :holds_free_pinned, :sum, merge: :add, unit: "bytes", value: "holds_free_pinned", place: 27
    # Of a forked process: bytes of the slots in use on memory that it had from its parent and shares with
    # nobody any more, their variance, and that part of them which was born since the fork.
    column :unshared, :sum, merge: :add, unit: "bytes", value: "unshared", place: 28
    column :unshared_variance, :sum, merge: :add, unit: "bytes2", value: "unshared_var", place: 29
    column :unshared_born, :sum, merge: :add, unit: "bytes", value: "unshared_born", place: 30

    # Labels, as one text (HeapSample::Labels).  A file has a label for each.
    column :label_set, :text, merge: :same

    # All of them, as HeapSample::Column.
    ALL = @all.freeze
    remove_instance_variable(:@all)
    COUNT = ALL.size
    ALL.each { |column| const_set(column.name.upcase, column.index) }

    # The parts of a row that are estimates, and the first of the four columns of each.
    PARTS = {inuse: INUSE_SAMPLES, young: YOUNG_SAMPLES, alloc: ALLOC_SAMPLES, dead: DEAD_SAMPLES}.freeze
    # What the four are, in their order.
    FIELDS = %i[samples objects space variance].freeze
    INUSE, YOUNG, ALLOC, DEAD = PARTS.values

    # Columns that a file has as labels, and as values: in the order of their places.
    LABELS = ALL.select(&:label).sort_by(&:place).freeze
    VALUES = ALL.select(&:value).sort_by(&:place).freeze
    TEXTS = ALL.select(&:text?).freeze
    SUMS = ALL.select(&:sum?).freeze
    # Columns that rows may be grouped and filtered by, by name.
    GROUPS = ALL.select(&:group?).to_h { |column| [column.name, column] }.freeze

    # Columns that are another's where nothing tells them.
    COPIES = ALL.select { |column| column.absent.is_a?(Symbol) }.to_h { |column| [column.index, ALL.index { |other| other.name == column.absent }] }.freeze

    # call-seq:
    #   Columns.row(class: 3, inuse_space: 40.0, …) -> Array
    #
    # A row of what is given, and of what a column is where nothing tells it.
    def self.row(**values)
      unknown = values.keys - ALL.map(&:name)
      raise ArgumentError, "a row has no #{unknown.join(", ")}" unless unknown.empty?

      told_by(ALL.map { |column| values.fetch(column.name, column.absent) })
    end

    # A row in which a column that nothing told is still the name of the one that it is then.
    def self.told_by(row) # :nodoc:
      COPIES.each { |at, from| row[at] = row[from] if row[at].is_a?(Symbol) }
      row
    end

    # A row of a Ruby that is older than this library, with the columns that it does not have.
    def self.complete(row)
      row.concat(ALL.drop(row.size).map(&:absent))
      told_by(row)
    end

    # The columns of +row+ by name: a Hash.
    def self.to_h(row)
      ALL.to_h { |column| [column.name, row[column.index]] }
    end
  end
end
