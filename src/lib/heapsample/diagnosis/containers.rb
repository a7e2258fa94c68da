# frozen_string_literal: true

module HeapSample
  # Containers that grow: a Hash, an Array, a String or a table of the VM has its entries in one block, which is
  # replaced by a larger one when it is full.  So a line at which one block gets larger and larger fills a container, and this
  # container keeps what is put into it; no walk over the heap is needed to see it.
  class Containers
    # Tables of the VM that follow what others keep, and keep nothing themselves.
    FOLLOWERS = /generic_iv|gen_ivtbl|define_final|obj_id|id2ref|register_fstring|callable_method_entry|gc_register/
    # What the functions of Ruby that asked for such a block say: the first that fits.
    KINDS = {
      /\Arb_method_entry_make/ => "method table",
      /\A(?:rb_)?const_(?:set|tbl_update)/ => "table of constants",
      /\Adsymbol_|\Aintern_|\Arb_intern/ => "symbol table",
      /\A(?:rb_)?(?:st_|rebuild_table|hash_|ar_)/ => "Hash",
      /\A(?:rb_)?ary_/ => "Array",
      /\A(?:rb_)?(?:enc_)?str_/ => "String",
      /\Arb_id_table_|\Arb_managed_id_table/ => "table of the VM",
      /\Arb_ivar_|\Arb_ensure_iv_list/ => "instance variables"
    }.freeze
    FUNCTIONS = 6
    # Such a block, at least, is one that can be seen to grow.
    BYTES_LEAST = 8 << 10
    # From early to late.
    GROWTH_LEAST = 1.4
    # One of so many moments may have no sample of it.
    GAPS_MOST = 2

    # A container that grows: the Place of the line that fills it, what it is, its bytes at each moment (nil where
    # none was sampled), and its stack.
    Container = Struct.new(:line, :app_line, :what, :sizes, :stack) do
      def bytes = sizes.compact.last
      def grew = bytes - (sizes.compact.first || 0)
      # How often it was seen to get larger.
      def steps = sizes.compact.each_cons(2).count { |one, other| other > one * 1.1 }
    end

    # call-seq:
    #   Containers.blocks(rows, profile, keys) -> Hash of [line, kind] => [bytes, stack]
    #
    # The largest block of a container at each line, in one profile; +keys+: Keys by line.
    def self.blocks(rows, profile, keys)
      kinds = {}
      rows.each_with_object({}) do |row, largest|
        bytes = row[Columns::MALLOC] ? row[Columns::INUSE_SPACE] / row[Columns::INUSE_OBJECTS] : 0
        next if bytes < BYTES_LEAST || !(kind = kinds.fetch(row[Columns::STACK]) { |stack| kinds[stack] = kind_of(profile.stacks.stack(stack)) })

        line = [keys.of(row), kind]
        largest[line] = [bytes, row[Columns::STACK]] unless largest[line]&.first&.>=(bytes)
      end
    end

    # What asked for the memory of a stack: a value of KINDS, nil if it is no container.
    def self.kind_of(stack)
      functions = stack.take_while(&:native?).first(FUNCTIONS).map(&:label)
      return if functions.any? { |name| FOLLOWERS.match?(name) }

      KINDS.find { |pattern, _| functions.any? { |name| pattern.match?(name) } }&.last
    end

    # +blocks+: Containers.blocks of each moment.
    def initialize(blocks)
      @blocks = blocks
    end

    # Those that grow from +from+, the index of a moment, on: the largest growth first.  +profile+: that of the last moment.
    def growing(from, profile)
      found = @blocks.flat_map(&:keys).uniq.filter_map do |key|
        sizes = @blocks.map { |blocks| blocks[key]&.first }
        container(key, sizes, profile) if grows?(sizes, from)
      end
      found.sort_by { |container| -container.grew }
    end

    private

    # It is there from when it was first seen to the end, never smaller than before, and has got larger in the judged
    # time: a table that was made whole at once has not, and blocks of different tables are now here and now not.
    def grows?(sizes, from)
      first = sizes.index { |size| size } or return false
      seen = sizes[first..]
      return false if seen.size < 3 || seen.count(nil) * GAPS_MOST > seen.size || seen.last(2).none?

      known = seen.compact
      known.each_cons(2).all? { |one, other| other >= one * 0.99 } && known.last >= GROWTH_LEAST * known.first &&
        known.last > (seen.first([from - first + 1, 1].max).compact.last || known.last)
    end

    def container((line, kind), sizes, profile)
      _, handle = @blocks.last[[line, kind]]
      site = handle && profile.stacks.application_site(handle)
      Container.new(line, site && Place.of(profile.stacks.frame(site)), kind, sizes, handle ? profile.stacks.stack(handle) : [])
    end
  end
end
