# frozen_string_literal: true

module HeapSample
  # An Alive as text: a sentence for threads, one for fibers, and where they were made.
  class AliveText
    ROWS = 5

    # +before+: how many of each kind there were: {threads: 4}, empty where that is not known; +since+: since when, as text.
    def initialize(alive, layout, before: {}, since: nil)
      @alive = alive
      @layout = layout
      @before = before
      @since = since
    end

    # Lines of text; none where there is the main thread alone, as there was.
    def lines
      return [] if kinds.empty?

      [*kinds.flat_map { |kind| @layout.title(sentence(kind)) }, *table]
    end

    # call-seq:
    #   changes(earlier) -> Array of String
    #
    # Lines for places with more, or fewer, threads or fibers than in +earlier+, an Alive.
    def changes(earlier)
      shown = @alive.since(earlier)
      lines = shown.first(ROWS).flat_map { |change| @layout.sentence(change_sentence(change)) }
      [*lines, *@layout.more(shown.size - ROWS)]
    end

    private

    def kinds
      Alive::KINDS.keys.select { |kind| @alive[kind].count > (kind == :threads ? 1 : 0) || @before.fetch(kind, @alive[kind].count) != @alive[kind].count }
    end

    # "Threads: 4 → 1,942 since sampling started; 1,941 sleeping, 1 running; 46.1 MiB of stack memory resident".
    def sentence(kind)
      population = @alive[kind]
      stacks = "#{@layout.bytes(population.stacks)} of stack memory resident" if population.stacks
      "#{kind.to_s.capitalize}: #{[counts(kind), states(population), stacks].compact.join("; ")}"
    end

    def counts(kind)
      now, before = @alive[kind].count, @before[kind]
      return @layout.count(now) if before.nil? || before == now

      "#{arrow(before, now)}#{" #{@since}" if @since}"
    end

    def arrow(before, now) = "#{@layout.count(before)} → #{@layout.count(now)}"

    def states(population)
      texts = population.states.sort_by { |_, count| -count }.map { |name, count| "#{@layout.count(count)} #{name}" }
      texts << "#{@layout.count(population.ended)} more ended, but still referenced" if population.ended.positive?
      texts.join(", ") unless texts.empty?
    end

    def table
      places = kinds.flat_map { |kind| @alive[kind].made.map { |one| [kind, one] } }.sort_by.with_index { |(_, one), index| [-one.count, index] }
      rows = places.first(ROWS).map { |kind, one| cells(kind, one) }
      columns = [["count", :right], ["what", :left], ["stacks", :right], ["state", :left, 1], ["created at", :left]]
      [*@layout.table(columns, rows), *@layout.more(places.size - rows.size)]
    end

    def cells(kind, one)
      [@layout.count(one.count), "#{Alive::KINDS.fetch(kind)}#{"s" unless one.count == 1}",
       one.stacks ? @layout.bytes(one.stacks) : "?", state(one), one.place]
    end

    # What most of them do.
    def state(one)
      name, count = one.states.max_by { |_, number| number }
      return "ended" unless name

      count == one.count ? name : "#{@layout.percent(count / one.count.to_f)} #{name}"
    end

    # "+1,938 threads created at app/x.rb:12 (4 → 1,942)".
    def change_sentence(change)
      more = change.difference
      "#{"+" if more.positive?}#{@layout.count(more)} #{Alive::KINDS.fetch(change.kind)}#{"s" unless more.abs == 1} created at " \
        "#{@layout.place(change.place)} (#{arrow(change.before, change.now)})"
    end
  end
end
