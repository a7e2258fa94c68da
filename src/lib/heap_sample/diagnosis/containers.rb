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

    def initialize(moments)
      @moments = moments
      @largest = {}
      @stacks = {}
      @kinds = {}
    end

    # Looks at a row of malloc'd memory of the profile at +moment+.
    def add(moment, row, profile, line)
      return unless row[Columns::INUSE_OBJECTS] > 0

      bytes = row[Columns::INUSE_SPACE] / row[Columns::INUSE_OBJECTS]
      return if bytes < BYTES_LEAST || !(kind = kind_of(row, profile))

      sizes = (@largest[[line, kind]] ||= Array.new(@moments))
      return unless sizes[moment].nil? || sizes[moment] < bytes

      sizes[moment] = bytes
      @stacks[[line, kind]] = [profile, row[Columns::STACK]] if moment == @moments - 1
    end

    # Those that grow from +from+, the index of a moment, on: the largest growth first.
    def growing(from)
      found = @largest.filter_map { |(line, kind), sizes| container(line, kind, sizes) if grows?(sizes, from) }
      found.sort_by { |container| -container.grew }
    end

    private

    def kind_of(row, profile)
      key = [profile, row[Columns::STACK]]
      return @kinds[key] if @kinds.key?(key)

      functions = profile.stacks.stack(row[Columns::STACK]).take_while(&:native?).first(FUNCTIONS).map(&:label)
      follows = functions.any? { |name| FOLLOWERS.match?(name) }
      @kinds[key] = follows ? nil : KINDS.find { |pattern, _| functions.any? { |name| pattern.match?(name) } }&.last
    end

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

    def container(line, kind, sizes)
      profile, handle = @stacks[[line, kind]]
      stack = profile ? profile.stacks.stack(handle) : []
      site = profile&.stacks&.application_site(handle)
      Container.new(line, site && Place.of(profile.stacks.frame(site)), kind, sizes, stack)
    end
  end
end
