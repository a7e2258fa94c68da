# frozen_string_literal: true

module HeapSample
  # The schema of a row, declared here and nowhere else in Ruby: the reader and the writer of files, Row,
  # grouping, filters, merging and the HTML view follow from it.
  #
  # A row is an Array in the order of this list, which is the order of the sampler's rows (HS_ROW_FIGURES in
  # profile/profile.h has the same figures).  Each column has a constant that is its index:
  # Columns::INUSE_SPACE.  An estimate is four columns in a row: samples, objects, space (bytes) and
  # variance (of space); PARTS has the first of the four of each.
  module Columns
    @all = []

    class << self # :nodoc: all
      private

      def column(name, holds, **options)
        @all << HeapSample::Column.new(name, @all.size, holds, **options)
      end

      # +field+: of the first of the four; +values+: what they are among a file's values.
      def estimate(part, field, values: {}, aliases: {})
        %i[samples objects space variance].each_with_index do |name, place|
          sum(:"#{part}_#{name}", field + place, value: values[name], aliases: aliases.fetch(name, []))
        end
      end

      # Bytes, a part of the bytes of +inuse+, and their variance.
      def share(name, field)
        sum(name, field)
        sum(:"#{name}_variance", field + 1)
      end

      def sum(name, field, **options) = column(name, :sum, merge: :add, field: field, **options)
    end

    # The identity of a row.
    column :stack, :stack, merge: :same
    column :class, :text, merge: :same, group: true, label: "class", aliases: ["allocation class"]
    column :type, :text, merge: :same, group: true, field: 3, aliases: ["ruby vm type"]
    # Bytes; 0 of malloc.
    column :slot_size, :number, merge: :same, field: 4
    # Serial of the thread that allocated; 0 of several.
    column :thread, :number, merge: :drop, field: 2
    # The GC count when the objects were allocated; nil if the row has totals only.
    column :allocation_gc, :number, merge: :age, field: 1, absent: nil
    # Base name of the file whose code called malloc; "" if it is not known, or the row is of slots.
    column :library, :text, merge: :same, group: true, label: "library"
    # Is the row of memory that malloc gave, not of slots?
    column :malloc, :flag, merge: :same, label: "kind", absent: false
    # Labels, as one text (HeapSample::Labels).  A file has a label for each.
    column :label_set, :text, merge: :same

    # Objects that the last completed mark found alive; blocks that are allocated now.
    estimate :inuse, 5, values: {objects: "inuse_objects", space: "inuse_space"},
                        aliases: {objects: %w[heap-live-samples inuse-objects objects], space: %w[heap-live-size heap-space inuse-space space]}
    # Objects allocated since that mark.
    estimate :young, 9
    # Everything allocated since sampling started.
    estimate :alloc, 13, values: {objects: "alloc_objects", space: "alloc_space"}, aliases: {objects: %w[alloc-samples], space: %w[alloc-space]}
    # Of these, what was freed.
    estimate :freed, 17
    # GCs that freed objects had survived, summed over objects.
    sum :freed_gcs, 21
    # Bytes of live slots with what their objects hold outside; 0 unless asked for.
    sum :memsize, 22
    # Bytes of live memory that are resident; where a file does not have the figure, all of it.
    sum :resident, 23, absent: :inuse_space
    # Free bytes of heap pages, in equal parts to the live objects of each page, see HeapPages; and
    # that part of it which objects hold that GC.compact must not move.
    share :holds_free, 24
    sum :holds_free_pinned, 26
    # Of a forked process: bytes of live slots in memory that it had from its parent and shares with
    # no process any more, and that part of them which was allocated since the fork.
    share :unshared, 27
    sum :unshared_allocated, 29

    # All of them, as HeapSample::Column.
    ALL = @all.freeze
    remove_instance_variable(:@all)
    COUNT = ALL.size
    ALL.each { |column| const_set(column.name.upcase, column.index) }

    # The parts of a row that are estimates, and the first of the four columns of each.
    PARTS = {inuse: INUSE_SAMPLES, young: YOUNG_SAMPLES, alloc: ALLOC_SAMPLES, freed: FREED_SAMPLES}.freeze
    # What the four are, in their order.
    FIELDS = %i[samples objects space variance].freeze
    INUSE, YOUNG, ALLOC, FREED = PARTS.values

    # Columns that a file has as labels of a sample, in its order; as values of a sample; and in the message Row, by field.
    LABELS = [CLASS, MALLOC, LIBRARY].map { |index| ALL[index] }.freeze
    VALUES = %w[alloc_objects alloc_space inuse_objects inuse_space].map { |name| ALL.find { |column| column.value == name } }.freeze
    FIELDS_OF_ROW = ALL.select(&:field).sort_by(&:field).freeze
    TEXTS = ALL.select(&:text?).freeze
    SUMS = ALL.select(&:sum?).freeze
    # Columns that rows may be grouped and filtered by, by name.
    GROUPS = ALL.select(&:group?).to_h { |column| [column.name, column] }.freeze

    # Variances, and the samples, objects and bytes that they follow from where all samples have one weight: see Columns.variance.
    VARIANCES = ALL.select { |column| column.name.end_with?("_variance") }.map do |column|
      samples = PARTS.values.find { |first| first + 3 == column.index } || INUSE
      [column.index, samples, samples + 1, column.index - 1].freeze
    end.freeze

    # The variance of +space+ if all samples have the same weight, as most rows have: a file has only those that are another.
    def self.variance(samples, objects, space) # :nodoc:
      return 0 if samples.zero? || objects <= samples

      (space.to_f * space * (objects / samples.to_f - 1) / objects).round
    end

    # Columns that are copies of another column where a row does not have them.
    COPIES = ALL.select { |column| column.absent.is_a?(Symbol) }.to_h { |column| [column.index, ALL.index { |other| other.name == column.absent }] }.freeze

    # call-seq:
    #   Columns.row(class: 3, inuse_space: 40.0, …) -> Array
    #
    # A row of the given values, with defaults for the others.
    def self.row(**values)
      unknown = values.keys - ALL.map(&:name)
      raise ArgumentError, "a row has no #{unknown.join(", ")}" unless unknown.empty?

      with_copies(ALL.map { |column| values.fetch(column.name, column.absent) })
    end

    # Fills in the copies: where a column has no value, it holds the name of the column to copy.
    def self.with_copies(row) # :nodoc:
      COPIES.each { |at, from| row[at] = row[from] if row[at].is_a?(Symbol) }
      row
    end

    # A row of a Ruby that is older than this library, with the columns that it does not have.
    def self.complete(row)
      row.concat(ALL.drop(row.size).map(&:absent))
      with_copies(row)
    end

    # The column with this name.
    def self.fetch(name)
      ALL.find { |column| column.name == name } || raise(ArgumentError, "a row has no column #{name.inspect}; it has #{ALL.map(&:name).join(", ")}")
    end

    # The columns of +row+ by name: a Hash.
    def self.to_h(row)
      ALL.to_h { |column| [column.name, row[column.index]] }
    end
  end
end
