# frozen_string_literal: true

module HeapSample
  # The first and the last heap walk of a series, and one in the middle, as profiles. A reference of one is the same as a reference of
  # another if all names from the root on are equal.
  class Walks
    # A smaller part of what was there is no sign that it was held so.
    SHARE_LEAST = 1 / 3.0
    # One sample is chance.
    SAMPLES_LEAST = 2
    # With fewer samples it is not known what was removed.
    REMOVED_SAMPLES = 5
    # The memory below a container grew if it is so many times as much.
    GREW_LEAST = 1.5
    # It did not if it is at most so many times as much: samples vary.
    STEADY_MOST = 1.1
    # Containers within containers, as the Hash of a Concurrent::Map.
    WITHIN_MOST = 3

    # How many entries a container had at the first walk and at the last, what limits it ("@max_size of Cache", or nil), when
    # the first walk was made, and the part of its entries then that was removed since, by samples. +before+, +since+ and +gone+ are
    # nil where they are not known.
    Entries = Struct.new(:before, :now, :bound, :since, :gone) do
      # About how many were removed.
      def removed = gone && (gone * before).round
      # Is the part too small to be certain by samples?
      def none_removed? = !gone.nil? && gone < 0.1
      # Did it grow by this factor?
      def grew?(factor) = !before.nil? && now >= factor * [before, 1].max

      # "Its entries: 412 → 3,680 since 09:01:10 UTC (first walk), none removed." "`@max_size of Cache` may limit it."
      def sentences(layout)
        change = "#{layout.count(before)} → #{layout.count(now)} since #{since.utc.strftime("%T")} UTC (first walk)" if before
        gone = ", #{none_removed? ? "none" : "about #{layout.count(removed)} of the first"} removed" if self.gone
        ["Its entries: #{change || layout.count(now)}#{gone}.", *("#{Printable.code(layout.name(bound))} may limit it." if bound)]
      end

      # JSON-ready.
      def to_h = {before: before, now: now, bound: bound, since: since&.utc, removed: removed}.compact
    end

    # The Profile with the last walk.
    attr_reader :last

    # call-seq:
    #   Walks.of(series) -> HeapSample::Walks or nil
    #
    # nil if no profile of it has a walk.
    def self.of(series)
      made = series.infos.each_index.select { |index| series.infos[index].walk&.then { |walk| walk.refused.nil? } }
      last = series[made.last] if made.any?
      new(last, *made[...-1].values_at(0, made.size / 2).uniq.compact.map { |index| -> { series[index] } }) if last&.holders
    end

    # +first+, +middle+: read the profiles with the first walk and with one in the middle, if there are such; they are read when they
    # are asked for.
    def initialize(last, first = nil, middle = nil)
      @last = last
      @read = first
      @read_middle = middle
    end

    # The Profile with the first walk; nil if there is one walk.
    def first = @first ||= @read&.call&.then { |profile| profile if profile.holders }

    # Did the local variable that is on an answer's path hold what the first walk found of a line, or the walk in the middle? What grows
    # may be elsewhere at first, since the line also allocated what the program loads. nil if the first walk found no holder of the line.
    def local_held?(place, answer)
      local = answer.path.find(&:local?).key
      held = local_held_at?(first, place, local)
      held == false ? !!local_held_at?(middle, place, local) : held
    end

    # Did the memory of a line grow below an answer, though the collections on the way to one below it have no more entries than at
    # the first walk?
    def grew_within?(place, answer, inner)
      return false unless first

      ways = (answer.path.size...inner.path.size).select { |size| Edge::ENTRIES.include?(inner.path[size].kind) }.map { |size| inner.path.first(size) }
      return false if ways.empty? || ways.any? { |way| counts(way).then { |before, now| before.nil? || now.nil? || now > before } }

      grew?(place, answer)
    end

    # Did the memory of a line grow below an answer since the first walk?
    def grew?(place, answer)
      before, now = of_line(place, answer)
      !before.nil? && now.samples >= REMOVED_SAMPLES && now.space >= GREW_LEAST * before.space
    end

    # Is it no more than at the first walk?
    def steady?(place, answer)
      before, now = of_line(place, answer)
      !before.nil? && before.samples >= REMOVED_SAMPLES && now.space <= STEADY_MOST * before.space
    end

    # Did a line only replace what was below an answer: did its memory there grow since the first walk, and all memory there by
    # less than half of that?
    def replaces?(place, answer)
      before, now = of_line(place, answer)
      return false unless before && now.samples - before.samples >= REMOVED_SAMPLES

      there, here = [first, last].map { |profile| held_below(profile, answer).sum(&:space) }
      here - there < (now.space - before.space) / 2
    end

    # Holders::Held of the last walk that are not below an answer.
    def outside(held, answer)
      below = below(last.holders, answer.path)
      held.reject { |one| below[one.node] }
    end

    # The Entries of the container to which an answer's path leads; nil if it leads to no container.
    def entries(answer)
      now = container(last.holders, nodes(last.holders, answer.path)) or return
      before = container(first.holders, nodes(first.holders, answer.path)) if first
      before ? Entries.new(before.entries, now.entries, now.bound || before.bound, first.info.taken, gone(answer)) : Entries.new(nil, now.entries, now.bound)
    end

    private

    def middle = @middle ||= @read_middle&.call&.then { |profile| profile if profile.holders }

    # Estimates of a line's memory below an answer at the first walk and at the last; nil if there is one walk.
    def of_line(place, answer)
      return unless first

      [first, last].map { |profile| Estimate.sum(held_below(profile, answer, by_line(profile).fetch(place, [])).map(&:estimate)) }
    end

    # The same at one walk.
    def local_held_at?(profile, place, local)
      ways = profile ? by_line(profile).fetch(place, []).map { |held| [profile.holders.path(held.node), held.estimate] } : []
      ways.reject! { |path, _| Roots.silent?(path.first.name) }
      return if ways.sum { |_, estimate| estimate.samples } < SAMPLES_LEAST

      ways.sum { |path, estimate| path.any? { |edge| edge.key == local } ? estimate.space : 0 } >= SHARE_LEAST * ways.sum { |_, estimate| estimate.space }
    end

    # The Edge with entries: one of these nodes', or within what they lead to.
    def container(holders, nodes, levels = WITHIN_MOST)
      edges = nodes.map { |node| holders.edge(node) }.select(&:entries)
      return edges.max_by(&:entries) if edges.any? || nodes.empty? || levels.zero?

      container(holders, nodes.flat_map { |node| inner(holders, node) }, levels - 1)
    end

    # References of a collection of anything to what it consists of, not to its entries.
    def inner(holders, node)
      (1...holders.size).select { |one| holders.parent(one) == node && holders.edge(one).then { |edge| edge.generic? && !Edge::ENTRIES.include?(edge.kind) } }
    end

    # How many entries the collection at the end of these references had at the first walk, and at the last; nil where it is not known.
    def counts(way) = [first, last].map { |profile| nodes(profile.holders, way).filter_map { |node| profile.holders.edge(node).entries }.max }

    # The part of what the first walk found below a reference that the last one did not find there; nil if that was too little.
    def gone(answer)
      there, left = [first, last].map do |profile|
        Estimate.sum(held_below(profile, answer).select { |held| held.row[Columns::ALLOCATION_GC].to_i <= first.info.gc_count }.map(&:estimate))
      end
      (1 - (left.objects / there.objects)).clamp(0, 1) if there.samples >= REMOVED_SAMPLES
    end

    # Holders::Held of what a walk found that a major GC had found alive, by the Place of the line.
    def by_line(profile)
      (@by_line ||= {}.compare_by_identity)[profile] ||= begin
        keys = Keys.new(profile, :line)
        profile.holders.select { |held| held.row[Columns::INUSE_SAMPLES].positive? }.group_by { |held| keys.of(held.row) }
      end
    end

    # Of a walk's Holders::Held, or of +held+, those below an answer.
    def held_below(profile, answer, held = profile.holders)
      below = below(profile.holders, answer.path)
      held.select { |one| below[one.node] }
    end

    # Which nodes are at or below the references of these names: an Array of true and false, by node.
    def below(holders, path)
      at = nodes(holders, path)
      (0...holders.size).each_with_object([]) { |node, below| below << (at.include?(node) || (node.positive? && below[holders.parent(node)])) }
    end

    # The nodes to which references of these names lead.
    def nodes(holders, path)
      path.inject([0]) { |parents, edge| parents.flat_map { |parent| children(holders)[[parent, edge.key]] || [] } }
    end

    def children(holders) = (@children ||= {}.compare_by_identity)[holders] ||= (1...holders.size).group_by { |node| [holders.parent(node), holders.edge(node).key] }
  end
end
