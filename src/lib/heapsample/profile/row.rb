# frozen_string_literal: true

module HeapSample
  # Samples that agree in all but their number: one stack, class, type, slot
  # size, GC of birth and labels.  One of malloc'd memory has class and type
  # "(malloc)", slot size 0, and no young.
  #
  # It answers each column by name, a text as a String: #type, #slot_size, #thread, #birth_gc,
  # #dead_gcs, #library, #memsize, #resident; Columns says what they are.  It takes part in pattern
  # matching:
  #
  #   profile.rows.select { |row| row in {class: "String", birth_gc: 10.., inuse: {samples: 5..}} }
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

    ##
    # :attr_reader: type
    # The VM's type: "T_STRING", "(malloc)".

    ##
    # :attr_reader: slot_size
    # Bytes of the slot; 0 of malloc.

    ##
    # :attr_reader: thread
    # Serial of the thread that allocated; 0 of several.

    ##
    # :attr_reader: birth_gc
    # The GC count when the objects were born; nil of a row that has totals only.

    ##
    # :attr_reader: dead_gcs
    # GCs that the dead had survived, summed over objects.

    ##
    # :attr_reader: library
    # The file whose code called malloc; "" if that is not known.

    ##
    # :attr_reader: memsize
    # Bytes of the slots in use with what their objects hold outside; 0 unless asked for.

    ##
    # :attr_reader: resident
    # Bytes of what is in use that the kernel has in memory.

    ##
    # :attr_reader: holds_free
    # Free bytes of heap pages that the objects in use hold, see HeapPages; #holds_free_variance is its variance.

    ##
    # :attr_reader: holds_free_pinned
    # That part of #holds_free which objects hold that GC.compact must not move.

    ##
    # :attr_reader: unshared
    # Bytes of slots in use on memory that this process had from its parent and shares with nobody any more;
    # #unshared_variance is its variance.

    ##
    # :attr_reader: unshared_born
    # That part of #unshared which was born since the fork.

    (Columns::ALL.map(&:name) - %i[stack class malloc label_set]).each do |name|
      index = Columns.const_get(name.upcase)
      value = Columns::TEXTS.any? { |column| column.index == index } ? "text(#{index})" : "columns[#{index}]"
      class_eval("def #{name} = #{value}", __FILE__, __LINE__) # what a block defines is its Ractor's alone
    end

    # Objects that the last completed mark found alive; what is allocated now.
    def inuse = estimate(Columns::INUSE)

    # Objects born since that mark.
    def young = estimate(Columns::YOUNG)

    # Everything born since sampling started.
    def alloc = estimate(Columns::ALLOC)

    # Of these, what was found dead, or freed.
    def dead = estimate(Columns::DEAD)

    # Equal for rows of the same objects in profiles of one session, which share
    # +interner+: see Stacks#identity.
    def identity(interner) # :nodoc:
      [profile.stacks.identity(columns[Columns::STACK], interner), class_name, type, slot_size, birth_gc, text(Columns::LABEL_SET)]
    end

    # call-seq:
    #   to_h -> Hash
    #
    # All of it, JSON-ready: columns by name, the estimates each as Estimate#to_h has it, and
    # the stack as texts, leaf first.
    def to_h
      deconstruct_keys(nil).to_h { |name, value| [name, name == :stack ? value.map(&:to_s) : value.is_a?(Estimate) ? value.to_h : value] }
    end

    # For pattern matching: the names are those of #to_h, the values objects.
    def deconstruct_keys(names)
      (names ? names & NAMES : NAMES).to_h { |name| [name, public_send(READERS.fetch(name, name))] }
    end

    # What #to_h has, and the methods that are called otherwise.
    NAMES = [*(Columns::ALL.map(&:name) - [:label_set] - Columns::PARTS.keys.flat_map { |part| Columns::FIELDS.map { |field| :"#{part}_#{field}" } }),
             :labels, *Columns::PARTS.keys].freeze
    READERS = {class: :class_name, malloc: :malloc?}.freeze
    private_constant :NAMES, :READERS

    def inspect
      "#<#{self.class} #{class_name} #{malloc? ? library : "#{slot_size} B"}, in use #{inuse.inspect}, #{stack.first || "no stack"}>"
    end

    private

    def text(index) = profile.text(columns[index])

    def estimate(at)
      Estimate.new.add_columns(columns, at, slot_size)
    end
  end
end
