# frozen_string_literal: true

module HeapSample
  # A Why as text: a tree, whose names are never cut.  What does not fit into a line goes on in the next.
  class WhyText
    ARROW = " → "
    # Of a longer path the steps in the middle are only counted, unless the full form is wanted.
    STEPS_MOST = 10
    ENDS = 4
    # Holders in the table of what would be freed by emptying one.
    FREED = 5
    # Room that names have at least; what a narrow text does without: the last columns of these first.
    ROOM = 40
    COLUMNS = %w[bytes share].push("95% interval").freeze
    private_constant :COLUMNS

    def initialize(why, layout)
      @why = why
      @layout = layout
    end

    def to_s
      @layout.text([head, *(@why.reason ? [@layout.sentence(@why.reason)] : [lines, roots, freed, stuck, pins, conclusion])])
    end

    # Title and tree, at most +top+ nodes of it.
    def lines(top = nil)
      return @layout.sentence(@why.reason) if @why.reason
      return @layout.title(title) if @why.empty?

      rows = top ? drawn.first(top) : drawn
      [*@layout.title(title), heading, *rows.flat_map { |node, *prefixes| row(node, *prefixes) }, *@layout.legend(rows.any? { |node, *| node.weak? })]
    end

    def summary = @why.reason || title

    # The tree as a list, for an issue or a chat.
    def to_markdown
      return "#{@why.profile.info.walk&.refused ? Printable.code(@why.reason) : @why.reason}\n" if @why.reason

      items = drawn.map do |node, depth|
        "#{"  " * (depth.length / 2)}- #{@layout.size(node.estimate)} #{@layout.bracketed(node.estimate)}, #{share(node)}: #{names(node).map { |name| Printable.code(name) }.join(ARROW)}"
      end
      "## #{title}\n\n#{items.join("\n")}\n"
    end

    # The ways as folded stacks, the root first: a line each, with its bytes.  For flamegraph.pl and speedscope.
    def to_folded
      sums = @why.ways.each_with_object(Hash.new(0.0)) do |(steps, key, estimate, _), found|
        found[[*steps.map { |step| step(step) }, object(key)].map { |name| Printable.text(name).tr(";", ",") }.join(";")] += estimate.space
      end
      sums.sort.map { |names, bytes| "#{names} #{bytes.round}\n" }.join
    end

    # A step as it is called: "@next of Node ×2 – 812", "local repo of block in Badge#initialize app/badge.rb:7".
    def step(step, repeats = [step.repeats, step.repeats])
      low, high = repeats
      times = " ×#{low == high ? @layout.count(high) : "#{@layout.count(low)} – #{@layout.count(high)}"}" if high > 1
      names = step.edges.map { |edge| edge_name(edge) }
      names.size == 1 ? "#{names.first}#{times}" : "(#{names.join(ARROW)})#{times}"
    end

    # What the objects at the end are.
    def object(key) = key.is_a?(Place) ? @layout.place(key) : @layout.name(key)

    private

    def title
      since = ", allocated since #{@why.since.info.taken&.utc&.strftime("%H:%M:%S UTC") || "the earlier profile"}" if @why.since
      "What retains live memory#{since}: #{@layout.amount(@why.total)}"
    end

    def head
      [*Header.part(@why.profile, @layout), *(walk unless @why.reason)]
    end

    # What it cost.
    def walk
      walk = @why.profile.info.walk or return
      return unless walk.objects && walk.seconds
      return @layout.sentence("The references of #{@layout.count(walk.objects)} objects were followed in #{@layout.time(walk.seconds)}.") if @layout.counted?

      held_up = "; the program paused for #{@layout.time(walk.hold_up)}" if walk.hold_up
      @layout.sentence("The heap walk visited #{@layout.count(walk.objects)} objects in #{@layout.time(walk.seconds)}#{held_up}.")
    end

    def heading = @layout.styled(:head, "#{columns.map { |name| name.rjust(widths.fetch(name)) }.join("  ")}  what retains it")

    # Node, prefix of its first line and of what follows.
    def drawn
      @drawn ||= begin
        rows = []
        waiting = @why.root.children.map { |node| [node, "", ""] }.reverse
        until waiting.empty?
          node, first, rest = waiting.pop
          rows << [node, first, rest]
          children = cut_off?(node) ? [] : node.children
          waiting.concat(children.each_with_index.map do |child, index|
            last = index == children.size - 1
            [child, "#{rest}#{last ? "└ " : "├ "}", "#{rest}#{last ? "  " : "│ "}"]
          end.reverse)
        end
        rows
      end
    end

    def row(node, first, rest)
      room = @layout.width - figures_width
      first, rest = [first, rest].map { |prefix| prefix.length > room / 2 ? "#{Layout::ELLIPSIS}#{prefix[-(room / 2 - 1)..]}" : prefix }
      bar = node.children.empty? || cut_off?(node) ? "  " : "│ "
      names = wrap(names(node), room - rest.length - bar.length)
      figures = columns.map { |name| cell(node, name).rjust(widths.fetch(name)) }.join("  ")
      style = node.weak? || node.role ? :weak : :plain
      [@layout.styled(style, "#{figures}  #{first}#{names.first}"), *names.drop(1).map { |name| "#{" " * figures_width}#{rest}#{bar}#{name}" }]
    end

    # Is nothing shown of what it branches into?
    def cut_off?(node) = node.children.size == 1 && node.children.first.role == :more

    # The widest that leave room for names.
    def columns
      most = @layout.counted? ? 2 : COLUMNS.size
      @columns ||= most.downto(1).map { |count| COLUMNS.first(count) }.find { |names| @layout.width - names.sum { |name| widths.fetch(name) + 2 } >= ROOM } || COLUMNS.first(1)
    end

    def widths
      @widths ||= COLUMNS.to_h { |name| [name, [name, *drawn.map { |node, *| cell(node, name) }].map(&:length).max] }
    end

    def figures_width = columns.sum { |name| widths.fetch(name) + 2 }

    def cell(node, name)
      case name
      when "bytes" then "#{Layout::WEAK_MARK if node.weak?}#{@layout.size(node.estimate)}"
      when "share" then share(node)
      else @layout.interval(node.estimate)
      end
    end

    def share(node) = @layout.share(node.estimate.space, @why.total.space)

    # What a node is called: its steps and, at the end, how many objects of which class.
    def names(node)
      return ["#{@layout.count(node.count)} more"] if node.role == :more

      names = node.steps.each_with_index.map { |step, at| self.step(step, node.repeats[at]) }
      names = shortened(names) unless @why.full
      names << Layout::ELLIPSIS if cut_off?(node)
      node.key ? [*names, objects(node)] : names
    end

    def shortened(names)
      return names if names.size <= STEPS_MOST

      [*names.first(ENDS), "#{names.size - 2 * ENDS} more", *names.last(ENDS)]
    end

    # "60 Issue", "60 String + 1,219 blocks", "1,219 blocks of String", "60 at app/a.rb:3 A#b".
    def objects(node)
      all, blocks = node.estimate.objects.round, node.blocks.round
      blocks_text = "#{@layout.count(blocks)} block#{"s" unless blocks == 1}"
      return "#{blocks_text} of #{node.key == ClassMix::MALLOC ? "malloc" : object(node.key)}" if blocks >= all

      "#{@layout.count(all - blocks)} #{"at " if node.key.is_a?(Place)}#{object(node.key)}#{" + #{blocks_text}" if blocks > 0}"
    end

    def edge_name(edge)
      at = " #{@layout.place(edge.place)}" if edge.place
      "#{@layout.name(edge.name)}#{at}"
    end

    # Lines of at most +room+ characters.  A name that fits into a line is in one; a longer one begins one, and is broken between
    # words, or else anywhere.
    def wrap(names, room)
      lines = [+""]
      names.each_with_index do |name, at|
        name += ARROW.rstrip if at < names.size - 1
        if lines.last.empty? || name.length > room || lines.last.length + 1 + name.length > room
          lines << +"" unless lines.last.empty?
          lines[-1..] = fill(pieces(name, room), room)
        else
          lines.last << " " << name
        end
      end
      lines
    end

    # The arrow stays with the word before it.
    def pieces(name, room) = name.length > room ? name.split(/ (?!→)/) : [name]

    def fill(pieces, room)
      pieces.each_with_object([+""]) do |piece, lines|
        lines << +"" if !lines.last.empty? && lines.last.length + 1 + piece.length > room
        lines.last << " " unless lines.last.empty?
        piece.chars.each_slice(room).map(&:join).each_with_index { |part, at| at.zero? ? lines.last << part : lines << +part }
      end
    end

    # What the categories of roots mean.
    def roots
      known = [*@why, *@why.flat_map(&:children)].flat_map(&:steps).map { |step| step.first.name }.uniq.filter_map { |name| Roots.of(name)&.then { |root| [name, root] } }
      known.flat_map { |name, root| @layout.remark("#{name}: #{root.meaning}") }
    end

    # Of a part of the profile it is not known.
    def freed
      list = @why.freed.first(FREED)
      return [] if list.empty?

      columns = [["bytes", :right], ["95% interval", :right, 1], ["holder", :left], (["at", :left] if list.any?(&:place))].compact
      rows = list.map { |one| [@layout.size(one.estimate), @layout.interval(one.estimate), @layout.name(one.names.last), one.place || Layout::NOTHING].first(columns.size) }
      [*@layout.title("Memory that would be freed by emptying one holder:"), *@layout.table(columns, rows)]
    end

    def stuck = StuckThreadsText.new(@why.stuck, @layout).lines

    # Where these hold much of what is free.
    def pins = HeapPagesText.new(HeapPages.new(@why.profile), @layout).pins

    def conclusion
      node = @why.largest or return []

      name = node.steps.each_with_index.map { |step, at| self.step(step, node.repeats[at]) }
      weak = " Too few samples to rely on." if node.weak?
      fill("The largest: #{Printable.code(shortened(name).join(ARROW))} retains #{@layout.amount(node.estimate)}, #{share(node)}.#{weak}".split(" "), @layout.width)
    end
  end
end
