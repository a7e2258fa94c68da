# frozen_string_literal: true

module HeapSample
  # Generations as text.
  class GenerationsText
    # Generations whose lines are listed, and the part of all that each has at least.
    LISTED = 3
    LISTED_SHARE = 0.1
    BAR = 16
    EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].freeze

    def initialize(generations, layout)
      @generations = generations
      @layout = layout
    end

    def to_s
      @layout.text([Header.part(@generations.profile, @layout), lines, *details, rest])
    end

    # Title and table.
    def lines(_ = nil)
      return @layout.title(title) if none?

      largest = @generations.map { |generation| generation.top(by: @generations.by, top: 1).first&.key }
      rows = @generations.each_with_index.map { |generation, index| [*cells(generation), largest[index] || Layout::NOTHING] }
      median = @generations.median
      [*@layout.title(title), *AwaitsMajor.lines(@generations.profile, @layout), *@layout.table(columns, rows, @generations.map { |generation| :weak if generation.estimate.weak? }),
       *@layout.sentence("Half of it (by bytes) has survived #{@layout.count(median)} GC#{"s" unless median == 1} or more.")]
    end

    def summary = title

    private

    def title
      of = " (age #{@generations.age})" if @generations.age
      gc = " (#{@generations.by_gc? ? "the last is" : "this is GC"} #{@layout.count(@generations.gc_count)})" if @generations.gc_count
      return "Objects by generation, the GC count at their allocation#{of}#{gc}: #{@layout.amount(@generations.total)}" if @generations.by_gc?

      "Live memory#{of} by age, in GCs#{gc}: #{@layout.amount(@generations.total)}"
    end

    def columns
      [[@generations.by_gc? ? "generation" : "age", :right], ["bytes", :right], ["95% interval", :right, 8], ["objects", :right, 2], ["samples", :right, 3],
       ["share", :right, 6], *([["per GC", :right, 5]] if wide?), ["", :left, 4], ["the largest, by #{@generations.by}", :left]]
    end

    def cells(generation)
      estimate = generation.estimate
      ["#{Layout::WEAK_MARK if estimate.weak?}#{name(generation)}", @layout.size(estimate),
       estimate.zero? ? Layout::NOTHING : @layout.interval(estimate), @layout.count(estimate.objects), @layout.count(estimate.samples),
       @layout.share(estimate.space, @generations.total.space), *(@layout.bytes(generation.bytes_per_gc) if wide?), bar(generation)]
    end

    def name(generation) = @generations.by_gc? ? @layout.count(@generations.gc_count - generation.ages.begin) : generation.to_s

    # Is there a range of more than one age?
    def wide? = @generations.any? { |generation| generation.gcs > 1 }

    # As long as its share of the largest, in eighths of a character.
    def bar(generation)
      most = @generations.map { |other| other.estimate.space }.max
      eighths = most > 0 ? (generation.estimate.space * BAR * 8 / most).round : 0
      "#{"█" * (eighths / 8)}#{EIGHTHS[eighths % 8]}"
    end

    # The lines behind the generations that matter, the largest first; of one +age+
    # all of its lines.
    def details
      return [] if none?
      return [TopText.new(@generations.largest, @layout).table] if @generations.age

      listed = @generations.select { |generation| generation.share.to_f >= LISTED_SHARE }.max_by(LISTED) { |generation| generation.estimate.space }
      listed.map do |generation|
        [*@layout.title("#{@generations.by_gc? ? "Generation" : "Age"} #{name(generation)}: #{@layout.amount(generation.estimate)}"), *top_of(generation, @generations.top).table]
      end
    end

    def top_of(generation, count) = TopText.new(generation.top(by: @generations.by, top: count), @layout)

    def none? = @generations.none?

    def rest
      young, ageless = @generations.young, @generations.ageless
      lines = []
      lines << "Young (allocated since the last GC, in no generation): #{@layout.amount(young)}" unless young.zero?
      lines << "The #{@generations.by_gc? ? "generation" : "age"} of #{@layout.amount(ageless)} is not known: #{why}" unless ageless.zero?
      lines << "No live memory has a known age." if none?
      lines.flat_map { |line| @layout.sentence(line) }
    end

    def why
      return "their allocation was not traced (ObjectSpace.trace_object_allocations_start)." if @generations.by_gc?
      return "this profile does not record when memory was allocated." unless @generations.gc_count

      "a profile of format #{@generations.profile.info.format || "2"} does not record when malloc blocks were allocated."
    end
  end
end
