# frozen_string_literal: true

module HeapSample
  # How a process grows as a whole: the accounts in a series with a plot, and which part of the memory grew when.
  #
  # This is a view of the diagnosis (ProcessDiagnosis), and its verdict is that of the diagnosis.  Each part of the account is
  # followed as a Course: how much of it was retained past the warm-up, in each quarter of the time.
  class Shape
    # Parts of the account.
    LIVE = %w[slots_live malloc_live].freeze
    WASTE = %w[slots_free malloc_waste malloc_metadata].freeze
    NAMES = {live: LIVE, waste: WASTE, other: (Account::PARTS.keys - LIVE - WASTE).freeze}.freeze
    TEXT = ShapeText

    include Analysis

    # A part of the memory: +name+ is :rss, :live, :waste (free slots, malloc's own) or :other; +sizes+ in bytes at Shape#times;
    # +course+, a Course: what was retained.
    Part = Struct.new(:name, :sizes, :course) do
      # Bytes that were retained past the warm-up.
      def grew = course.grew
      # The same in each fourth of the time.
      def quarters = course.parts
    end

    attr_reader :series
    # What judges: the ProcessDiagnosis.
    attr_reader :diagnosis
    # Part of RSS, and Parts that add up to it.
    attr_reader :whole, :parts

    # call-seq:
    #   Shape.new(series)
    def initialize(series)
      @series = series
      @diagnosis = series.whole.diagnosis
      @known = series.infos.select { |info| info.account&.rss }
      measure unless reason
    end

    # Why nothing can be said, a String, or nil.
    def reason
      return "The profiles have no account of the process, so how it grew is not known." if @known.empty?

      diagnosis.text.sentence unless diagnosis.enough?
    end

    # The verdict of the diagnosis: see ProcessDiagnosis#verdict.
    def verdict = diagnosis.verdict

    # Seconds since the first account, of each.
    def times = @known.map { |info| (info.taken - began).to_f }
    # When the first account was taken, a Time.
    def began = @known.first.taken
    # Bytes of RSS, at #times.
    def rss = whole.sizes

    # JSON-ready: numbers not rounded.
    def to_h
      figures = {process_id: series.infos.first.process_id, verdict: verdict, reason: reason}
      return figures if reason

      figures.merge(seconds: times, rss_bytes: rss,
                    parts_bytes: parts.to_h { |part| [part.name, part.sizes] }, judged_seconds: diagnosis.seconds,
                    growth: [whole, *parts].to_h { |part| [part.name, {bytes: part.grew, quarters: part.quarters, bytes_per_hour: per_hour(part.grew)}] })
    end

    # Bytes an hour.
    def per_hour(bytes) = bytes * 3600 / [diagnosis.seconds, 1e-3].max

    private

    def measure
      @whole = part(:rss, &:rss)
      @parts = NAMES.map { |name, fields| part(name) { |account| fields.sum { |field| account[field].to_i } } }
    end

    def part(name, &measure) = Part.new(name, @known.map { |info| measure.call(info.account) }, diagnosis.course_of(measure))
  end
end
