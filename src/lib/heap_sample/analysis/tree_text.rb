# frozen_string_literal: true

module HeapSample
  # A Tree as text.
  class TreeText
    def initialize(tree, layout)
      @tree = tree
      @layout = layout
    end

    def to_s
      @layout.text([Header.part(@tree.profile, @layout), lines])
    end

    # Title and the tree, at most +top+ nodes of it.
    def lines(top = nil)
      return @layout.title(title) if @tree.root.estimate.zero?

      rows = top ? drawn.first(top) : drawn
      [*@layout.title(title), *@layout.table(columns, rows.map(&:first), rows.map { |_, node| :weak if node.weak? || node.role == :more }),
       *@layout.legend(rows.any? { |_, node| node.weak? })]
    end

    def summary = title

    private

    def value = @tree.value

    def title
      "#{value.title(@tree.profile)}, #{@tree.direction} #{Tree::DIRECTIONS.fetch(@tree.direction)}: #{value.amount(@tree.root.estimate, @layout)}"
    end

    def columns
      [[value.unit, :right], ["share", :right, 4], ["95% interval", :right, 2], ["samples", :right, 1], [Tree::DIRECTIONS.fetch(@tree.direction), :left]]
    end

    # Rows of the table, each with its node.
    def drawn
      rows = []
      waiting = [[@tree.root, "", ""]]
      until waiting.empty?
        node, first, rest = waiting.pop
        rows << [cells(node, first), node]
        children = cut_off?(node) && !node.equal?(@tree.root) ? [] : node.children
        waiting.concat(children.each_with_index.map do |child, index|
          last = index == children.size - 1
          [child, "#{rest}#{last ? "└ " : "├ "}", "#{rest}#{last ? "  " : "│ "}"]
        end.reverse)
      end
      rows
    end

    def cells(node, prefix)
      estimate = node.estimate
      number = value.number(estimate)
      ["#{Layout::WEAK_MARK if node.weak?}#{@layout.quantity(number, value.measure)}", @layout.share(number, @tree.total),
       value.interval_text(estimate, @layout), estimate.samples > 0 ? @layout.count(estimate.samples) : Layout::NOTHING,
       ->(room) { branch(node, prefix, room) }]
    end

    # Is nothing shown of what it branches into?
    def cut_off?(node) = node.children.size == 1 && node.children[0].role == :more

    # A prefix leaves at least half of the room to the names.
    def branch(node, prefix, room)
      prefix = "#{Layout::ELLIPSIS}#{prefix[-(room / 2 - 1)..]}" if room && prefix.length > room / 2
      prefix + chain(node, room && [room - prefix.length, 1].max)
    end

    ITSELF = {callees: "(the line itself)", callers: "(no caller)"}.freeze
    GAP = " › "
    # Room that two places need.
    BOTH = 48

    # "models/user.rb:3 User.all › 4 frames › db.rb:9 DB#query": of the frames of a
    # node the one where it branches or allocates, and the one that says most
    # beside: the application's that is nearest to it, or the other end.
    def chain(node, room)
      case node.role
      when :stackless then return @layout.name(Stacks::NO_STACK, room)
      when :itself then return @layout.name(ITSELF.fetch(@tree.direction), room)
      when :more then return @layout.name("#{@layout.count(node.count)} more", room)
      end
      return @layout.name(node.equal?(@tree.root) ? "(all)" : Stacks::NO_STACK, room) if node.places.empty?

      shown = shown(node.places)
      shown = shown.last(1) if room && room < BOTH && @tree.direction == :callees
      shown = shown.first(1) if room && room < BOTH && @tree.direction == :callers
      fit(node.places, shown, room, cut_off: cut_off?(node))
    end

    def shown(places)
      main, others = @tree.direction == :callees ? [places.size - 1, (places.size - 2).downto(0)] : [0, (1...places.size)]
      return [main] if places.size == 1

      other = others.find { |index| GemName.of(places[index].path) == GemName::APP } unless GemName.of(places[main].path) == GemName::APP
      [main, other || others.to_a.last].sort
    end

    # Places at the indexes +shown+, with how many frames are between, and "…" where
    # it branches into what is not shown.
    def fit(places, shown, room, cut_off:)
      parts = []
      [-1, *shown, places.size].each_cons(2) do |before, index|
        left_out = index - before - 1
        parts << "#{left_out} frame#{"s" if left_out > 1}" if left_out > 0
        parts << places[index] if index < places.size
      end
      parts << Layout::ELLIPSIS if cut_off
      room -= parts.sum { |part| part.is_a?(Place) ? 0 : part.length } + GAP.length * (parts.size - 1) if room
      parts.map { |part| part.is_a?(Place) ? @layout.place(part, room && share_of_room(part, parts.grep(Place), room)) : part }.join(GAP)
    end

    # Half, or what the other place does not need.
    def share_of_room(place, places, room)
      other = places.find { |candidate| !candidate.equal?(place) }
      [other ? [room / 2, room - @layout.place(other).length].max : room, 1].max
    end
  end
end
