# frozen_string_literal: true

module HeapSample
  # A Shape as text.
  class ShapeText
    PLOT_WIDTH = 60
    NAME_WIDTH = 6
    NAMES = {bloats: "bloats", fragments: "fragments", fills: "fills", leaks: "leaks"}.freeze

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
      reason ? "too short to say" : verdict.empty? ? "does not grow" : verdict.join(", ")
    end

    def lines(_ = nil) = reason ? [*title, *@layout.sentence(reason)] : [*plots, *conclusion]

    private

    %i[series times rss parts curve reason findings verdict rival].each { |name| define_method(name) { @shape.public_send(name) } }

    def title = @layout.title("Shape: #{series.describe}")

    def plots
      change = [rss.max - rss.min, Verdict::SHARE * rss.max].max.to_f
      shown = {RSS: rss, **parts.reject { |_, sizes| sizes.max.zero? }}
      limits = shown.transform_values { |sizes| sizes.minmax.map { |size| @layout.bytes(size) }.join(" – ") }
      room = @layout.width - NAME_WIDTH - limits.values.map(&:length).max - 3
      [*@layout.sentence("#{@layout.duration(times.last)} from #{@shape.began.utc.strftime("%H:%M:%S UTC")}, #{times.size} accounts:"),
       *shown.map { |name, sizes| "#{name.to_s.ljust(NAME_WIDTH)} #{bars(sizes, change, room)}  #{limits[name]}" }]
    end

    # From its least on, all in one measure: how much RSS changed.
    def bars(sizes, change, room) = Plot.bars(sizes, change, [PLOT_WIDTH, [room, 1].max].min)

    def evidence
      findings.flat_map { |finding| @layout.sentence("- #{sentence(finding)}") }
    end

    def sentence(finding)
      bytes = @layout.bytes(finding.bytes, sign: true)
      case finding.term
      when :line
        rate, limits = @layout.figure(*curve.slope, sign: true)
        "RSS grows in a line: #{bytes}, #{rate} an hour (95%: #{limits}); #{where(finding)}" \
          "#{" that nobody uses and that has not levelled off" if finding.pattern == :fragments}."
      when :level
        "RSS levels off after #{bytes}; #{where(finding)}" \
          "#{finding.pattern == :fragments ? ", which nobody uses: fragmentation" : ": something filled, a cache or the warm-up"}."
      else
        "RSS stepped up by #{bytes} at #{(@shape.began + finding.at).utc.strftime("%H:%M:%S UTC")} and stayed; #{where(finding)}" \
          "#{finding.parts[:live] < 0.5 ? ": the living passed through, their room is kept" : ": something was loaded and is kept"}."
      end
    end

    PART_NAMES = {live: "live memory", waste: "free slots and malloc's waste", other: "other memory"}.freeze

    def where(finding)
      shares = finding.parts.select { |_, share| share >= 0.1 }.sort_by { |_, share| -share }
      return "no part grew as much" if shares.empty?

      "it was #{shares.map { |name, share| "#{(share * 100).round}% #{PART_NAMES.fetch(name)}" }.join(", ")}"
    end

    def conclusion
      text = if findings.empty? then "does not grow: RSS #{@layout.bytes(rss.first)} at first, #{@layout.bytes(rss.last)} at the end"
             else verdict.map { |pattern| NAMES.fetch(pattern) }.join(" and ")
             end
      return @layout.sentence("The process #{text}.#{unsure}") unless otherwise?

      [*@layout.sentence(@shape.diagnosis.text(width: @layout.width).sentence),
       *@layout.sentence("(This is by all that is known. By the shape of RSS alone one would say that it #{text}.#{unsure})")]
    end

    # Does RSS alone say otherwise than all that is known?
    def otherwise?
      whole = @shape.diagnosis
      whole.enough? && verdict.include?(:leaks) != (whole.leak? || whole.unsettled?)
    end

    def unsure
      other = rival or return ""

      " Not clear: that it #{other.empty? ? "does not grow" : other.map { |pattern| NAMES.fetch(pattern) }.join(" and ")} fits as well."
    end
  end
end
