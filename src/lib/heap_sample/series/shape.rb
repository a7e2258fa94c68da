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
    TEXT = ShapeText

    include Analysis

    # What a term of the curve is: +pattern+ is :leaks, :bloats, :fragments or :fills (a cache, a
    # warm-up); +term+ :line, :level or :step; +bytes+ it added to RSS; +at+ the seconds of a step;
    # +parts+ the share of :live, :waste and :other in what grew meanwhile.
    Finding = Struct.new(:pattern, :term, :bytes, :at, :parts)

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
    def initialize(series, **look)
      look_like(look)
      @series = series
      @findings = []
      collect
      judge unless @reason
    end

    # What the process does by all that is known, its lines too.
    def diagnosis = @diagnosis ||= series.diagnosis

    # What the process does: some of :leaks, :bloats, :fragments, :fills; nil if it cannot be said.
    def verdict = reason ? nil : findings.map(&:pattern).uniq

    # Bytes of the fitted curve, at #times.
    def fitted = curve ? times.map { |time| curve.at(time) } : []

    # JSON-ready: numbers not rounded, intervals as [low, high].
    def to_h
      slope, interval = curve&.slope
      {process_id: series.infos.first.process_id, verdict: verdict, reason: reason, rival: rival, seconds: times, rss_bytes: rss,
       fitted_bytes: fitted, parts_bytes: parts, bytes_per_hour: slope, bytes_per_hour_interval: interval,
       findings: findings.map do |finding|
         {pattern: finding.pattern, term: finding.term, bytes: finding.bytes, at_seconds: finding.at, shares: finding.parts}
       end}
    end

    # What the process would do by the curve that fits nearly as well; nil if there is none, or it says the same.
    def rival
      return unless curve&.rival

      patterns = findings_of_rival
      patterns unless patterns.sort == verdict.sort
    end

    # When the first account that is judged was taken, a Time.
    def began = @first

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

      part = finding.pattern == :fragments ? :waste : :live
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
      pattern = {step: :bloats, level: shares[:waste] >= 0.5 ? :fragments : :fills, line: shares[:waste] > 0.5 ? :fragments : :leaks}[term]
      Finding.new(pattern, term, bytes, at, shares)
    end

    def findings_of_rival
      {steps: :bloats, level: :fills, line: :leaks}.values_at(*curve.rival.names).map do |pattern|
        pattern == :fills && findings.any? { |finding| finding.pattern == :fragments } ? :fragments : pattern
      end
    end
  end
end
