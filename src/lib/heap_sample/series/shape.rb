# frozen_string_literal: true

module HeapSample
  # How a process grows as a whole, from the accounts in a series: does it bloat (RSS
  # steps up and stays), fragment (it levels off, and what grew is memory that nobody
  # uses), leak (it grows in a line), or some of these together?
  #
  # RSS is fitted with Curve, which chooses the terms by BIC; the start of the process is
  # left out.  Then the parts of the account, which add up to RSS, are fitted with the same terms:
  # so much of each is theirs.
  #
  # - a line is a leak if what is alive (live slots, live malloc) or what nobody
  #   accounts for grew; where it is waste (free slots, malloc's own) it is fragmentation that has not
  #   levelled off;
  # - what levels off is fragmentation if most of it is waste; else the living filled
  #   something and stopped: a cache, or a warm-up;
  # - a step is bloat: RSS rose at once and never fell.  Whether the living rose with it,
  #   or only passed through, is said.
  #
  # What levels off has to be found in its part at the end: else it is not a term.
  #
  # A term is named from Verdict's threshold on: 5% of RSS, and 4 MiB.
  class Shape
    # Accounts below which nothing is said.
    ACCOUNTS_LEAST = 12
    # So much of the time since sampling started is warm-up.
    WARM_UP = 0.1
    LIVE = %w[slots_live malloc_live].freeze
    WASTE = %w[slots_free malloc_waste malloc_metadata].freeze
    # A part has to have grown by such a share of what it is said to have made.
    HELD_UP = 0.4
    # Accounts at either end.
    ENDS = 3
    BARS = "▁▂▃▄▅▆▇█"
    PLOT_WIDTH = 60
    NAME_WIDTH = 6
    NAMES = {bloats: "bloats", fragments: "fragments", fills: "fills", leaks: "leaks"}.freeze

    include Analysis

    # What a term of the curve is: +kind+ is :leaks, :bloats, :fragments or :fills (a cache, a
    # warm-up); +term+ :line, :level or :step; +bytes+ it added to RSS; +at+ the seconds of a step;
    # +parts+ the share of :live, :waste and :other in what grew meanwhile.
    Finding = Struct.new(:kind, :term, :bytes, :at, :parts)

    attr_reader :series
    # Seconds since the first account that is judged; RSS and other parts in bytes, likewise.
    attr_reader :times, :rss
    # {live: […], waste: […], other: […]}.
    attr_reader :parts
    # The Curve of RSS; nil if there is too little to say.
    attr_reader :curve
    # Why nothing can be said, a String, or nil.
    attr_reader :reason
    # Array of Finding, the largest first; empty if the process does not grow.
    attr_reader :findings

    # call-seq:
    #   Shape.new(series, width: 120, style: nil)
    def initialize(series, width: Layout::WIDTH, style: nil, **)
      @series = series
      @layout = Layout.new(width: width, style: style)
      @findings = []
      collect
      judge unless @reason
    end

    # What the process does: some of :leaks, :bloats, :fragments, :fills; nil if it cannot be said.
    def verdict = reason ? nil : findings.map(&:kind).uniq

    # Bytes of the fitted curve, at #times.
    def fitted = curve ? times.map { |time| curve.at(time) } : []

    def to_s
      head = [*title, *series.warnings.flat_map { |warning| @layout.sentence("Warning: #{warning}") }]
      return @layout.text([head, @layout.sentence(reason)]) if reason

      @layout.text([head, plots, evidence, conclusion])
    end

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h
      slope, interval = curve&.slope
      {process_id: series.infos.first.process_id, verdict: verdict, reason: reason, rival: rival, seconds: times, rss_bytes: rss,
       fitted_bytes: fitted, parts_bytes: parts, bytes_per_hour: slope, bytes_per_hour_interval: interval,
       findings: findings.map do |finding|
         {kind: finding.kind, term: finding.term, bytes: finding.bytes, at_seconds: finding.at, shares: finding.parts}
       end}
    end

    def summary # :nodoc:
      reason ? "too short to say" : verdict.empty? ? "does not grow" : verdict.join(", ")
    end

    def lines(_) = reason ? [*title, *@layout.sentence(reason)] : [*plots, *conclusion] # :nodoc:

    private

    def collect
      known = series.infos.select { |info| info.account&.rss }
      started = series.infos.first.started || series.times.first
      warm = started + (series.times.last - started) * WARM_UP
      judged = known.select { |info| info.taken >= warm }
      @accounts = judged.map(&:account)
      @first = judged.first&.taken
      @times = judged.map { |info| info.taken - @first }
      @rss = @accounts.map(&:rss)
      @parts = {live: sums(LIVE), waste: sums(WASTE), other: sums(Account::PARTS.keys - LIVE - WASTE)}
      @reason = too_short(known.size, judged.size) if judged.size < ACCOUNTS_LEAST
    end

    def mean(sizes, indexes) = indexes.sum { |index| sizes[index] } / indexes.size.to_f

    def sums(names) = @accounts.map { |account| names.sum { |name| account[name].to_i } }

    def too_short(known, judged)
      missing = "#{series.size - known} of #{series.size} have no account of the process; " if known < series.size
      "Too short to say: #{ACCOUNTS_LEAST} accounts past the warm-up (the first #{(WARM_UP * 100).round}% of the time) are " \
        "needed, there #{judged == 1 ? "is" : "are"} #{judged}. #{missing}Sample longer, or more often (every=).".sub(/; Sample/, ". Sample")
    end

    def judge
      fit(levels: true)
      fit(levels: false) unless @findings.all? { |finding| held_up?(finding) }
    end

    def fit(levels:)
      @curve = Curve.new(@times, @rss, least: [Verdict::SHARE * Curve.median(@rss), Verdict::FLOOR].max, levels: levels)
      @findings = findings_of(@curve.best).sort_by { |finding| -finding.bytes }
    end

    # Is there a part of the account that levels off as well?  A line and what levels off
    # are much alike, so that a little waste at first, which is gone later, can make one of the other.
    def held_up?(finding)
      return true unless finding.term == :level

      part = finding.kind == :fragments ? :waste : :live
      net = ends(parts.fetch(part)).then { |first, last| last - first }
      finding.parts[:other] > 0.5 || net >= HELD_UP * finding.bytes
    end

    # Medians of the first and the last accounts.
    def ends(sizes)
      [sizes.first(ENDS), sizes.last(ENDS)].map { |some| Curve.median(some) }
    end

    def findings_of(fit)
      of_parts = parts.transform_values { |sizes| curve.adds_of(times, sizes) }
      found = fit.adds[:steps].each_with_index.map do |bytes, index|
        finding(:step, bytes, curve.steps[index], of_parts.transform_values { |adds| adds[:steps][index] })
      end
      found << finding(:level, fit.adds[:level], nil, of_parts.transform_values { |adds| adds[:level] }) if fit.terms[:form]
      found << finding(:line, fit.adds[:line], nil, of_parts.transform_values { |adds| adds[:line] }) if fit.terms[:line]
      found
    end

    def finding(term, bytes, at, changes)
      grown = changes.transform_values { |change| [change, 0.0].max }
      shares = grown.to_h { |name, change| [name, change / [grown.values.sum, 1.0].max] }
      kind = {step: :bloats, level: shares[:waste] >= 0.5 ? :fragments : :fills, line: shares[:waste] > 0.5 ? :fragments : :leaks}[term]
      Finding.new(kind, term, bytes, at, shares)
    end

    # Kinds that the other candidate would be.
    def rival
      return unless curve&.rival

      kinds = findings_of_rival
      kinds unless kinds.sort == verdict.sort
    end

    def findings_of_rival
      {steps: :bloats, level: :fills, line: :leaks}.values_at(*curve.rival.kind).map do |kind|
        kind == :fills && findings.any? { |finding| finding.kind == :fragments } ? :fragments : kind
      end
    end

    def title = @layout.title("Shape: #{series.describe}")

    def plots
      change = [rss.max - rss.min, Verdict::SHARE * rss.max].max.to_f
      shown = {RSS: rss, **parts.reject { |_, sizes| sizes.max.zero? }}
      limits = shown.transform_values { |sizes| sizes.minmax.map { |size| @layout.bytes(size) }.join(" – ") }
      room = @layout.width - NAME_WIDTH - limits.values.map(&:length).max - 3
      [*@layout.sentence("#{@layout.duration(times.last)} from #{@first.utc.strftime("%H:%M:%S UTC")}, #{times.size} accounts:"),
       *shown.map { |name, sizes| "#{name.to_s.ljust(NAME_WIDTH)} #{bars(sizes, change, room)}  #{limits[name]}" }]
    end

    # From its least on, all in one measure: how much RSS changed.
    def bars(sizes, change, room)
      width = [PLOT_WIDTH, [room, 1].max, sizes.size].min
      groups = sizes.each_index.group_by { |index| index * width / sizes.size }.values
      groups.map { |group| BARS[((mean(sizes, group) - sizes.min) / change * BARS.size).floor.clamp(0, BARS.size - 1)] }.join
    end

    def evidence
      findings.flat_map { |finding| @layout.sentence("- #{sentence(finding)}") }
    end

    def sentence(finding)
      bytes = @layout.bytes(finding.bytes, sign: true)
      case finding.term
      when :line
        slope, interval = curve.slope
        "RSS grows in a line: #{bytes}, #{@layout.bytes(slope, sign: true)} an hour (95%: #{@layout.range(*interval, sign: true)}); #{where(finding)}" \
          "#{" that nobody uses and that has not levelled off" if finding.kind == :fragments}."
      when :level
        "RSS levels off after #{bytes}; #{where(finding)}" \
          "#{finding.kind == :fragments ? ", which nobody uses: fragmentation" : ": something filled, a cache or the warm-up"}."
      else
        "RSS stepped up by #{bytes} at #{(@first + finding.at).utc.strftime("%H:%M:%S UTC")} and stayed; #{where(finding)}" \
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
             else verdict.map { |kind| NAMES.fetch(kind) }.join(" and ")
             end
      @layout.sentence("The process #{text}.#{unsure}")
    end

    def unsure
      other = rival or return ""

      " Not clear: that it #{other.empty? ? "does not grow" : other.map { |kind| NAMES.fetch(kind) }.join(" and ")} fits as well."
    end
  end
end
