# frozen_string_literal: true

module HeapSample
  # A Shape as text.
  class ShapeText
    PLOT_WIDTH = 60
    NAME_WIDTH = 6
    NAMES = {rss: "RSS", live: "live memory", waste: "free slots and malloc's waste", other: "other memory"}.freeze
    # A part of growth that is worth a word.
    SHARE_LEAST = 0.1

    def initialize(shape, layout)
      @shape = shape
      @layout = layout
    end

    def to_s
      head = [*title, *series.warnings.flat_map { |warning| @layout.sentence("Warning: #{warning}") }]
      return @layout.text([head, @layout.sentence(reason)]) if reason

      @layout.text([head, plots, evidence, conclusion])
    end

    def summary
      reason ? "cannot tell" : "#{diagnosis.kind}, grade #{diagnosis.grade}"
    end

    def lines(_ = nil) = reason ? [*title, *@layout.sentence(reason)] : [*plots, *conclusion]

    private

    %i[series times whole parts reason diagnosis].each { |name| class_eval("def #{name} = @shape.#{name}", __FILE__, __LINE__) }

    def title = @layout.title("Shape: #{series.describe}")

    def plots
      change = [whole.sizes.max - whole.sizes.min, AccountGrowth::SHARE * whole.sizes.max].max.to_f
      shown = [whole, *parts.reject { |part| part.sizes.max.zero? }]
      limits = shown.map { |part| part.sizes.minmax.map { |size| @layout.bytes(size) }.join(" – ") }
      room = @layout.width - NAME_WIDTH - limits.map(&:length).max - 3
      [*@layout.sentence("#{@layout.duration(times.last)} from #{@shape.began.utc.strftime("%H:%M:%S UTC")}, #{times.size} accounts:"),
       *shown.zip(limits).map { |part, limit| "#{(part.name == :rss ? "RSS" : part.name.to_s).ljust(NAME_WIDTH)} #{bars(part.sizes, change, room)}  #{limit}" }]
    end

    # From its least on, all in one measure: how much RSS changed.
    def bars(sizes, change, room) = Plot.bars(sizes, change, [PLOT_WIDTH, [room, 1].max].min)

    # How much was retained, and when, past the warm-up.
    def evidence
      return [] unless whole.grew >= diagnosis.least

      shown = parts.select { |part| part.grew >= SHARE_LEAST * whole.grew }.sort_by { |part| -part.grew }
      [whole, *shown].flat_map { |part| @layout.sentence("- #{sentence(part)}") }
    end

    def sentence(part)
      bytes = @layout.bytes(part.grew, sign: true)
      rate = part.name == :rss ? " in #{@layout.duration(diagnosis.seconds)} (#{@layout.bytes(@shape.per_hour(part.grew), sign: true)}/hour)" : ""
      "#{NAMES.fetch(part.name)}: #{bytes}#{rate}; in the quarters of the time #{part.quarters.map { |quarter| @layout.bytes(quarter, sign: true) }.join(", ")}."
    end

    def conclusion = @layout.sentence(ProcessDiagnosisText.new(diagnosis, @layout).sentence)
  end
end
