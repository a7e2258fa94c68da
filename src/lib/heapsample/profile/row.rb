# frozen_string_literal: true

module HeapSample
  # Samples that agree in all but their number: one stack, class, type, slot
  # size, GC count of the allocation, and labels.  One of malloc'd memory has class and type
  # "(malloc)", slot size 0, and no young.
  #
  # #[] has each column by name: Columns describes them.  A row takes part in pattern matching:
  #
  #   profile.rows.select { |row| row in {class: "String", allocation_gc: 10.., inuse: {samples: 5..}} }
  class Row
    attr_reader :profile
    # The row as it is in Profile#table.
    attr_reader :columns

    def initialize(profile, columns)
      @profile = profile
      @columns = columns
    end

    # Frames, leaf first.
    def stack
      profile.stacks.stack(columns[Columns::STACK])
    end

    # "String", "(malloc)".
    def class_name = text(Columns::CLASS)

    # call-seq:
    #   labels -> Hash
    #
    # For whom it was allocated: {"controller" => "orders"}.  See Labels.
    def labels = Labels.parse(text(Columns::LABEL_SET))

    # Is it of memory that malloc gave?
    def malloc? = columns[Columns::MALLOC]

    # call-seq:
    #   row[:resident] -> Integer, Float, String, true, false or nil
    #
    # What a column has, a text as a String.  Raises ArgumentError if there is no such column.
    def [](name)
      column = Columns.fetch(name)
      column.text? ? text(column.index) : columns[column.index]
    end

    # The VM's type: "T_STRING", "(malloc)".
    def type = text(Columns::TYPE)

    # Bytes of the slot; 0 of malloc.
    def slot_size = columns[Columns::SLOT_SIZE]

    # Serial of the thread that allocated; 0 of several.
    def thread = columns[Columns::THREAD]

    # The GC count when the objects were allocated; nil of a row that has totals only.
    def allocation_gc = columns[Columns::ALLOCATION_GC]

    # The file whose code called malloc; "" if that is not known.
    def library = text(Columns::LIBRARY)

    # Objects that the last completed mark found alive; what is allocated now.
    def inuse = estimate(Columns::INUSE)

    # Objects allocated since that mark.
    def young = estimate(Columns::YOUNG)

    # Everything allocated since sampling started.
    def alloc = estimate(Columns::ALLOC)

    # Of these, what was freed.
    def freed = estimate(Columns::FREED)

    # Equal for rows of the same objects in profiles of one session, which share
    # +interner+: see Stacks#identity.
    def identity(interner) # :nodoc:
      [profile.stacks.identity(columns[Columns::STACK], interner), class_name, type, slot_size, allocation_gc, text(Columns::LABEL_SET)]
    end

    # call-seq:
    #   to_h -> Hash
    #
    # All of it, JSON-ready: columns by name, the estimates each as Estimate#to_h has it, and
    # the stack as texts, leaf first.
    def to_h
      deconstruct_keys(nil).to_h { |name, value| [name, name == :stack ? value.map(&:to_s) : value.is_a?(Estimate) ? value.to_h : value] }
    end

    # For pattern matching: the same names as #to_h, with objects as values.
    def deconstruct_keys(names)
      (names ? names & NAMES : NAMES).to_h { |name| [name, OBJECTS.include?(name) ? public_send(name) : self[name]] }
    end

    # What #to_h has: columns, and what is an object of its own.
    OBJECTS = [:stack, :labels, *Columns::PARTS.keys].freeze
    NAMES = [*(Columns::ALL.map(&:name) - [:label_set] - Columns::PARTS.values.flat_map { |at| Columns::ALL[at, Columns::FIELDS.size].map(&:name) }),
             *OBJECTS].uniq.freeze
    private_constant :OBJECTS, :NAMES

    def inspect
      "#<#{self.class} #{class_name} #{malloc? ? library : "#{slot_size} B"}, live #{inuse.inspect}, #{stack.first || "no stack"}>"
    end

    private

    def text(index) = profile.text(columns[index])

    def estimate(at)
      Estimate.new.add_columns(columns, at, slot_size)
    end
  end
end
