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
      styles = rows.map { |_, node| :weak if node.weak? || node.role == :more }
      [*@layout.title(title), *awaiting, *@layout.table(columns, rows.map(&:first), styles), *@layout.legend(rows.any? { |_, node| node.weak? })]
    end

    def summary = title

    private

    def value = @tree.value

    def awaiting
      value.part == :inuse ? AwaitsMajor.lines(@tree.profile, @layout, value.kind) : []
    end

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
      ["#{Layout::WEAK_MARK if node.weak?}#{quantity(number, estimate)}", @layout.share(number, @tree.total),
       value.interval_text(estimate, @layout), estimate.samples > 0 ? @layout.count(estimate.samples) : Layout::NOTHING,
       Branch.new(prefix.length + needed(node)) { |room| branch(node, prefix, room) }]
    end

    # In the unit of the interval.
    def quantity(number, estimate)
      value.measure == :objects || value.memsize? ? @layout.quantity(number, value.measure) : @layout.size(estimate)
    end

    # The last cell of a row: it takes the room that is there, and needs some to show its lines.
    class Branch
      attr_reader :least

      def initialize(least, &text)
        @least = least
        @text = text
      end

      def call(room) = @text.call(room)
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
    # Room for how many frames are between two places.
    BETWEEN = 12

    # "models/user.rb:3 User.all › 4 frames › db.rb:9 DB#query": of the frames of a
    # node the frame where it branches or allocates, and one more: the nearest frame
    # of the application, or the other end.
    def chain(node, room)
      case node.role
      when :stackless then return @layout.name(Stacks::NO_STACK, room)
      when :itself then return @layout.name(ITSELF.fetch(@tree.direction), room)
      when :more then return @layout.name("#{@layout.count(node.count)} more", room)
      end
      return @layout.name(node.equal?(@tree.root) ? "(all)" : Stacks::NO_STACK, room) if node.places.empty?

      fit(node.places, shown(node.places, room), room, cut_off: cut_off?(node))
    end

    # Indexes, in the order of the places: as many as have room for their lines.
    def shown(places, room)
      main = @tree.direction == :callees ? places.size - 1 : 0
      both = [main, *other(places, main)]
      both.pop if room && least(places.values_at(*both)) > room
      both.sort
    end

    # The application's that is nearest, else the other end.
    def other(places, main)
      others = @tree.direction == :callees ? (main - 1).downto(0).to_a : (1...places.size).to_a
      app = others.find { |index| application?(places[index]) } unless application?(places[main])
      app || others.last
    end

    # Room that places need for their lines.
    def least(places)
      places.sum { |place| [@layout.place(place).length, @layout.least(place)].min } + BETWEEN * (places.size - 1)
    end

    def needed(node)
      node.role || node.places.empty? ? 0 : least(node.places.values_at(*shown(node.places, nil)))
    end

    def application?(place) = !place.path.empty? && GemName.of(place.path, @tree.profile.stacks.roots) == GemName::APP

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

    # What its line needs with half of what is left, or what the other place does not need.
    def share_of_room(place, places, room)
      other = places.find { |candidate| !candidate.equal?(place) }
      return [room, 1].max unless other

      [least([place]) + (room - places.sum { |one| least([one]) }) / 2, room - @layout.place(other).length].max.clamp(1..)
    end
  end
end
