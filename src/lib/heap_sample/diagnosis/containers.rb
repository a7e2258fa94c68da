# frozen_string_literal: true

module HeapSample
  # Containers that grow: a Hash, an Array or a table of the VM has its entries in one block, which is replaced by
  # a larger one when it is full.  So a line at which one block gets larger and larger fills a container, and this
  # container keeps what is put into it; no walk over the heap is needed to see it.
  class Containers
    # What allocates such blocks in Ruby: the function, and what the container is.
    KINDS = {
      /\A(?:rb_)?(?:st_|rebuild_table|rb_hash|ar_|hash_)/ => "Hash",
      /\A(?:rb_)?ary_|\Arb_ary_/ => "Array",
      /\Arb_id_table_|\Ahash_table_|\Arb_managed_id_table/ => "table of methods, constants or symbols",
      /\Arb_ivar_|\Agen_ivtbl|\Arb_ensure_iv_list|\Arb_obj_/ => "instance variables"
    }.freeze
    FUNCTIONS = 4
    # Such a block, at least, is one that can be seen to grow.
    BYTES_LEAST = 8 << 10
    # From early to late.
    GROWTH_LEAST = 1.4

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

    # The functions of Ruby that asked for the block: the names of a profile's frames are texts of it, so that they
    # are looked at once.
    def kind_of(row, profile)
      key = [profile, row[Columns::STACK]]
      return @kinds[key] if @kinds.key?(key)

      functions = profile.stacks.stack(row[Columns::STACK]).take_while(&:native?).first(FUNCTIONS).map(&:label)
      @kinds[key] = KINDS.find { |pattern, _| functions.any? { |name| pattern.match?(name) } }&.last
    end

    # It is there at the end, larger than before, and has grown in the judged time: a table that was made whole once
    # has not.
    def grows?(sizes, from)
      last = sizes.rindex { |size| size } or return false
      return false if last < sizes.size - 2

      seen = sizes.compact
      late = sizes[from..].compact
      seen.size > 2 && late.any? && late.last >= late.max * 0.99 && seen.last >= GROWTH_LEAST * seen.first && (late.first < late.last || sizes[0...from].compact.empty?) &&
        seen.each_cons(2).count { |one, other| other > one * 1.1 } >= 1
    end

    def container(line, kind, sizes)
      profile, handle = @stacks[[line, kind]]
      stack = profile ? profile.stacks.stack(handle) : []
      site = profile&.stacks&.application_site(handle)
      app = site && profile.stacks.frame(site).then { |frame| Place.new(frame.full_path, frame.lineno, frame.qualified_label) }
      Container.new(line, app, kind, sizes, stack)
    end
  end
end
