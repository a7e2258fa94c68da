# frozen_string_literal: true

module HeapSample
  # Which simple course a measured size takes over time, if any: level, one or two
  # steps up, growth that levels off, growth in a line, or some of these together.
  #
  #   y = a + steps + b f(t / tau) + c t
  #
  # f is 1 - exp(-x) or ln(1 + x), over a grid of tau; steps are tried at every place.
  # Each combination is fitted by least squares, with nothing below 0; one in which a term
  # adds less than +least+, or than SHARE of how far y ranges, is no candidate, nor a line that does
  # not go on in the last quarter.  Of the rest the one with the least
  #
  #   BIC = n' ln(SSE / n) + k ln(n')
  #
  # is taken (Schwarz 1978, Annals of Statistics 6:461-464), k the number of fitted
  # figures.  A step has three, how much and where, which counts twice, as it is the best of all
  # places (Zhang & Siegmund 2007, Biometrics 63:22-32); so has a curve for its tau.  Sizes of one process
  # at neighbouring times are alike, and n of them tell less than n: n' = n (1 - r) / (1 + r),
  # r the residuals' correlation with their neighbours in the fullest model
  # (Bayley & Hammersley 1946, JRSS Supplement 8:184-197).  A candidate of other terms that
  # is within UNSURE of it is as good: #rival.
  class Curve
    # Points that are fitted; more are made fewer by medians.
    POINTS = 60
    # Points on either side of a step.
    SIDE = 3
    TAUS = [0.03, 0.06, 0.12, 0.25, 0.5].freeze
    UNSURE = 4.0
    # A term adds such a share of the range at least: heaps grow in small steps.
    SHARE = 0.15
    # Growth in the last quarter, as a part of what a line would have there.
    GOES_ON = 0.4
    # Standard deviation of a measure, at least: a share of its mean.
    NOISE = 0.002
    CORRELATION_MAX = 0.9
    ROBUST_STEPS = 10

    # +terms+: :steps (places in time), :tau and :form of what levels off, :line; what
    # each adds from the start to the end, in +adds+ ({steps: [bytes, …], level: bytes, line: bytes}).
    Fit = Struct.new(:names, :terms, :coefficients, :adds, :sse, :figures, :bic)

    # The best Fit, and that of other terms that is as good, or nil.
    attr_reader :best, :rival
    # Correlation of neighbours.
    attr_reader :correlation

    # +times+ in seconds, growing; +sizes+ in bytes; +least+ in bytes.  Without +levels+
    # nothing that levels off is a candidate.
    def initialize(times, sizes, least:, levels: true)
      @levels = levels
      @from, @span = times.first, (times.last - times.first).to_f
      @x, @y = Curve.thin(times.map { |time| (time - @from) / @span }, sizes)
      @scale = [@y.sum / @y.size, 1.0].max
      @least = [least, SHARE * (@y.max - @y.min)].max
      fits = candidates
      @correlation = correlation_of(fits.max_by(&:figures))
      fits.each { |fit| fit.bic = bic(fit) }
      @best = fits.select { |fit| counts?(fit) }.min_by(&:bic)
      @rival = fits.select { |fit| counts?(fit) && fit.names != @best.names && fit.bic < @best.bic + UNSURE }.min_by(&:bic)
    end

    # Fitted size at +time+.
    def at(time) = columns_at(@best.terms, (time - @from) / @span).zip(@best.coefficients).sum { |value, factor| value * factor }

    # Bytes an hour of the line and their 95% interval; nil without one.  As many points
    # tell no more than n', the variance is n / n' of that of least squares.
    def slope
      return unless @best.terms[:line]

      count = effective(unbiased_correlation)
      freedom = [count - @best.figures, 1.0].max
      variance = [@best.sse, floor].max / [@x.size - @best.figures, 1].max * inverse_of_last * @x.size / count
      error = Trend.student_quantile(Statistics::TAIL, freedom) * Math.sqrt(variance)
      line = @best.coefficients.last
      [line, [line - error, line + error]].then { |value, limits| [value * 3600 / @span, limits.map { |limit| limit * 3600 / @span }] }
    end

    # What each term of the best fit adds to other +sizes+, a part of these, at +times+: as
    # Fit#adds, and below 0 where the part shrinks.  Points that lie far off, of what only
    # passed through, count the less the farther off they are (Huber 1964, Annals of
    # Mathematical Statistics 35:73-101).
    def adds_of(times, sizes)
      rows = times.map { |time| columns_at(@best.terms, (time - @from) / @span) }
      weights = [1.0] * rows.size
      coefficients = [0.0] * @best.coefficients.size
      ROBUST_STEPS.times do
        roots = weights.map { |weight| Math.sqrt(weight) }
        coefficients = solve(rows.zip(roots).map { |row, root| row.map { |value| value * root } }, sizes.zip(roots).map { |size, root| size * root }) or
          return adds(@best.terms, [0.0] * @best.coefficients.size)
        off = rows.zip(sizes).map { |row, size| (size - row.zip(coefficients).sum { |value, factor| value * factor }).abs }
        near = [2 * Curve.median(off), NOISE * @scale].max
        weights = off.map { |distance| distance > near ? near / distance : 1.0 }
      end
      adds(@best.terms, coefficients)
    end

    # When the steps are, seconds as in +times+.
    def steps = (@best.terms[:steps] || []).map { |place| @from + place * @span }

    # Medians of so many stretches of time; of three neighbours where there are few.
    def self.thin(x, y)
      if x.size <= POINTS
        return [x, y.each_index.map { |index| median(y[[index - 1, 0].max..index + 1].then { |near| near.size == 3 ? near : [y[index]] }) }]
      end

      groups = x.each_index.group_by { |index| [(x[index] * POINTS).floor, POINTS - 1].min }.values
      [groups.map { |group| group.sum { |index| x[index] } / group.size }, groups.map { |group| median(group.map { |index| y[index] }) }]
    end

    def self.median(values)
      sorted = values.sort
      (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
    end

    private

    # The best fit of each choice of terms.
    def candidates
      levels = @levels ? %i[saturating logarithmic].product(TAUS).map { |form, tau| {form: form, tau: tau} } : []
      one = places.map { |place| {steps: [place]} }
      line = {line: true}
      all = [[{}], [line], levels, levels.map { |level| level.merge(line) }, one, one.map { |step| step.merge(line) },
               one.product(levels).map { |step, level| step.merge(level) }]
      fits = all.map { |models| least(models) }
      fits << least(two(fits[4])) << least(two(fits[5]))
      fits << least(levels.map { |level| fits[6].terms.merge(level, line) }) if fits[6]
      fits.compact
    end

    # A second step beside the one of a fit.
    def two(fit)
      return [] unless fit

      first, = fit.terms[:steps]
      places.select { |place| (place - first).abs > SIDE.to_f / @x.size }.map { |place| fit.terms.merge(steps: [first, place].sort) }
    end

    # In the middle between points.
    def places
      (SIDE..@x.size - SIDE).map { |index| (@x[index - 1] + @x[index]) / 2 }
    end

    def least(models)
      models.filter_map { |terms| fit(terms) }.min_by(&:sse)
    end

    def fit(terms)
      rows = @x.map { |x| columns_at(terms, x) }
      coefficients = solve(rows, @y) or return
      return if coefficients.drop(1).any?(&:negative?)

      sse = rows.each_with_index.sum { |row, index| (@y[index] - row.zip(coefficients).sum { |value, factor| value * factor })**2 }
      adds = adds(terms, coefficients)
      names = [*(:steps if terms[:steps]), *(:level if terms[:form]), *(:line if terms[:line])]
      Fit.new(names, terms, coefficients, adds, sse, 2 + 3 * adds[:steps].size + (terms[:form] ? 3 : 0) + (terms[:line] ? 1 : 0))
    end

    # Of coefficients, what they add from the start to the end.
    def adds(terms, coefficients)
      count = terms[:steps]&.size || 0
      rest = coefficients.drop(1 + count)
      {steps: coefficients[1, count], level: terms[:form] ? rest.first * form(terms, 1.0) : 0.0, line: terms[:line] ? rest.last : 0.0}
    end

    def columns_at(terms, x)
      [1.0, *terms[:steps]&.map { |place| x > place ? 1.0 : 0.0 }, *(form(terms, x) if terms[:form]), *(x if terms[:line])]
    end

    def form(terms, x)
      terms[:form] == :saturating ? 1 - Math.exp(-x / terms[:tau]) : Math.log(1 + x / terms[:tau])
    end

    # Is each term large enough to be named, and does a line go on to the end?
    def counts?(fit)
      adds = fit.adds
      (adds[:steps] + [*(adds[:level] if fit.terms[:form]), *(adds[:line] if fit.terms[:line])]).all? { |bytes| bytes >= @least } &&
        (!fit.terms[:line] || goes_on?(fit))
    end

    # Medians of the last quarter's first and last part, without its steps.
    def goes_on?(fit)
      recent = @x.size - @x.size / 4
      part = [@x.size / 12, 1].max
      sizes, places = [@y, @x].map { |values| [values[recent, part], values.last(part)].map { |some| Curve.median(some) } }
      steps = (fit.terms[:steps] || []).zip(fit.adds[:steps]).sum { |place, bytes| place.between?(*places) ? bytes : 0.0 }
      sizes[1] - sizes[0] - steps >= GOES_ON * fit.adds[:line] * (places[1] - places[0])
    end

    def floor = @x.size * (NOISE * @scale)**2

    def bic(fit) = effective * Math.log([fit.sse, floor].max / @x.size) + fit.figures * Math.log(effective)

    # n' of the class's comment.
    def effective(correlation = @correlation)
      [@x.size * (1 - correlation) / (1 + correlation), 4.0].max
    end

    # Of residuals it comes out too small, and an interval too narrow: by about (k + 4 r) / n
    # where k figures were fitted (Kendall 1954, Biometrika 41:403-404, for k = 1).
    def unbiased_correlation
      own = correlation_of(@best)
      (own + (@best.coefficients.size + 4 * own) / @x.size).clamp(0.0, CORRELATION_MAX)
    end

    def correlation_of(fit)
      rest = @x.each_index.map { |index| @y[index] - columns_at(fit.terms, @x[index]).zip(fit.coefficients).sum { |value, factor| value * factor } }
      all = rest.sum { |value| value * value }
      return 0.0 if all <= floor

      (rest.each_cons(2).sum { |one, other| one * other } / all).clamp(0.0, CORRELATION_MAX)
    end

    # Least squares by the normal equations; nil if columns depend on each other.
    def solve(rows, values)
      size = rows.first.size
      matrix = Array.new(size) do |i|
        [*Array.new(size) { |j| rows.sum { |row| row[i] * row[j] } }, rows.each_with_index.sum { |row, index| row[i] * values[index] }]
      end
      reduce(matrix)
    end

    def reduce(matrix)
      size = matrix.size
      size.times do |i|
        pivot = (i...size).max_by { |j| matrix[j][i].abs }
        return if matrix[pivot][i].abs < 1e-9

        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        size.times do |j|
          next if i == j

          factor = matrix[j][i] / matrix[i][i]
          (i..size).each { |column| matrix[j][column] -= factor * matrix[i][column] } unless factor.zero?
        end
      end
      matrix.each_with_index.map { |row, i| row[size] / row[i] }
    end

    # The last figure on the diagonal of the inverse of the normal equations.
    def inverse_of_last
      rows = @x.map { |x| columns_at(@best.terms, x) }
      size = rows.first.size
      reduce(Array.new(size) { |i| [*Array.new(size) { |j| rows.sum { |row| row[i] * row[j] } }, i == size - 1 ? 1.0 : 0.0] }).last
    end
  end
end
