# frozen_string_literal: true

module HeapSample
  # What allocates, retains or peaks higher in one set of runs than in another: a RunFolder each.
  #
  # For each figure, and each method, gem and test, the means of both are compared. A row is :higher or :lower if (else :noise, or
  # :small where 2 alone is true)
  #
  # 1. the difference is at least the +limit+, a part of the figure of a whole run;
  # 2. Welch's t test finds it at a level of ALPHA divided by the number of all tests that are made (Bonferroni): so the
  #    comparison as a whole has a false alarm in at most one of a hundred comparisons;
  # 3. all runs of one side are above all runs of the other, which no noise of two values passes by chance more often than
  #    two in 252 times, with five runs on each side.
  #
  # Where five runs happen to agree, their spread is no measure of noise. So it counts as no less than the error of sampling,
  # and than FLOOR of the figure. Only rows that have the +limit+ on one side can pass 1, so the others are not tested.
  class Comparison
    include Analysis

    TEXT = ComparisonText
    ALPHA = 0.01
    LIMIT = 0.01
    # A standard deviation from run to run, as a part of the figure of a whole run.
    FLOOR = 0.0005
    # Of the time, a change of Row#detectable is found.
    POWER_T = 1.75
    RUNS_MOST = 30
    # Figures that are counted. Bytes allocated are estimated from samples, and the peak depends on when GCs run.
    EXACT = %i[allocated retained].freeze

    # A figure of the whole run (+group+ and +key+ nil), or of a row. +base+, +head+: means; +interval+: of the difference, such
    # that all intervals of the comparison hold together in 99 of 100 comparisons; +unit+: the limit in its unit.
    Row = Struct.new(:figure, :group, :key, :base, :head, :interval, :verdict, :detectable, :noise, keyword_init: true) do
      # Of the means.
      def difference = head - base
      # The same as a part of the base; nil: that is 0.
      def change = base.zero? ? nil : difference / base
      # Is it an alarm?
      def higher? = verdict == :higher
    end

    # call-seq:
    #   Comparison.student(level, degrees) -> Float
    #
    # The two-sided quantile of Student's t.
    def self.student(level, degrees) # :nodoc:
      low, high = 0.0, 1e6
      60.times do
        middle = low < 1 ? (low + high) / 2 : Math.sqrt(low * high)
        Statistics.incomplete_beta(degrees / (degrees + (middle**2)), degrees / 2.0, 0.5) > level ? low = middle : high = middle
      end
      high
    end

    # RunFolder of both sides; the part of a whole run that a change must have.
    attr_reader :base, :head, :limit

    def initialize(base, head, limit: LIMIT)
      @base, @head, @limit = base, head, limit
    end

    # A Row for each figure of a whole run that both sides have.
    def totals = @totals ||= figures.map { |figure| judge(figure, nil, nil, base.values(figure), head.values(figure)) }

    # Rows of one figure by :line, :gem or :test that were tested, the largest increase first.
    def rows(figure, group)
      @rows ||= {}
      @rows[[figure, group]] ||= (tested[[figure, group]] || []).map { |key| row(figure, group, key) }.sort_by { |row| [-row.difference, row.key] }
    end

    # All rows, totals first.
    def all = [*totals, *tested.keys.flat_map { |figure, group| rows(figure, group) }]
    # Rows that are higher or lower.
    def changed = all.select { |row| %i[higher lower].include?(row.verdict) }
    # Is something higher?
    def higher? = all.any?(&:higher?)

    # Rows of a figure that is higher by which it can be found: those that are higher, or else those whose increase is largest
    # compared with their noise.
    def culprits(figure, group, most = 3)
      rows = rows(figure, group)
      higher = rows.select(&:higher?)
      higher.any? ? higher : rows.select { |row| row.difference.positive? }.max_by(most) { |row| row.difference / row.noise }
    end

    # How many runs of each side let a change of the limit be found in the figures that are counted exactly; nil: more than RUNS_MOST.
    def runs_needed = totals.select { |row| EXACT.include?(row.figure) }.map { |row| needed(row) }.then { |all| all.max unless all.include?(nil) }

    # What differs around the runs: [name, of base, of head].
    def environment
      one, other = base.environment, head.environment
      (one.keys | other.keys).sort.reject { |name| one[name] == other[name] }.map { |name| [name, one[name], other[name]] }
    end

    # Are tests counted by the thread that runs them, on both sides?
    def by_thread? = [base, head].all?(&:sampled?)

    # JSON-ready, not rounded.
    def to_h(**)
      {verdict: higher? ? :higher : :noise, base: {path: base.path, runs: base.size}, head: {path: head.path, runs: head.size}, limit: limit, counted: by_thread? ? :thread : :process,
       environment: environment.map { |name, one, other| {name: name, base: one, head: other} }, runs_needed: runs_needed,
       totals: totals.map { |row| row_to_h(row) }, changed: (changed - totals).map { |row| row_to_h(row) }}
    end

    private

    def directory = nil

    def row_to_h(row) = {**row.to_h, difference: row.difference, change: row.change, place: (head.place(row.key) || base.place(row.key) if row.group == :line)}.compact

    def figures = RunFolder::FIGURES.keys.select { |figure| base.values(figure) && head.values(figure) }

    # The keys that are tested, by figure and group.
    def tested
      @tested ||= (base.runs + head.runs).flat_map { |run| run.rows.keys }.uniq.to_h do |figure, group|
        least = limit * total(figure)
        [[figure, group], [base, head].flat_map { |side| side.keys(figure, group, least: least) }.uniq]
      end
    end

    # How many tests are made.
    def tests = @tests ||= tested.values.sum(&:size) + figures.size

    # Of the base; of retained rows the live bytes by samples, which are not all that the process retains.
    def total(figure)
      @scale ||= {}
      @scale[figure] ||= [mean(base.values(figure) || [0.0]), 1.0].max
    end

    def row(figure, group, key)
      (values, variances), (later, later_variances) = base.row(figure, group, key), head.row(figure, group, key)
      judge(figure, group, key, values, later, variances, later_variances)
    end

    def judge(figure, group, key, one, other, variances = [0.0], later_variances = [0.0])
      error, degrees = error(figure, one, other, mean(variances), mean(later_variances))
      critical = critical(degrees)
      difference = mean(other) - mean(one)
      Row.new(figure: figure, group: group, key: key, base: mean(one), head: mean(other), interval: [difference - (critical * error), difference + (critical * error)],
              verdict: verdict(figure, one, other, difference, difference.abs > critical * error), detectable: [(critical + POWER_T) * error, limit * total(figure)].max,
              noise: error / Math.sqrt((1.0 / one.size) + (1.0 / other.size)))
    end

    def verdict(figure, one, other, difference, certain)
      return :noise unless certain
      return :small if difference.abs < limit * total(figure)
      return :higher if other.min > one.max

      other.max < one.min ? :lower : :noise
    end

    # The standard error of the difference, and Welch's degrees of freedom.
    def error(figure, one, other, sampling, later_sampling)
      parts = [variance(one) / one.size, variance(other) / other.size]
      floor = (FLOOR * total(figure))**2
      least = ([sampling, floor].max / one.size) + ([later_sampling, floor].max / other.size)
      sum = parts.sum
      whole = one.size + other.size - 2
      return [Math.sqrt(least), whole] if sum <= least

      below = parts.zip([one, other]).sum { |part, values| values.size > 1 ? part**2 / (values.size - 1) : 0.0 }
      [Math.sqrt(sum), below.positive? ? [sum**2 / below, whole].min : whole]
    end

    def mean(values) = values.sum / values.size.to_f

    def variance(values)
      return 0.0 if values.size < 2

      mean = mean(values)
      values.sum { |value| (value - mean)**2 } / (values.size - 1)
    end

    # Student's t that is exceeded, on either side, with a chance of ALPHA / tests.
    def critical(degrees)
      return Float::INFINITY if degrees <= 0

      @critical ||= {}
      @critical[degrees.round(2)] ||= Comparison.student(ALPHA / tests, degrees)
    end

    def needed(row)
      wanted = limit * total(row.figure)
      (3..RUNS_MOST).find { |runs| (Comparison.student(ALPHA / tests, (2 * runs) - 2) + POWER_T) * row.noise * Math.sqrt(2.0 / runs) <= wanted }
    end
  end
end
