# frozen_string_literal: true

# A verdict looks at a series after each of its points; what it said is compared with the truth.
class Trial
  LEAK = %i[leak].freeze
  GROWS = %i[grows leak ended].freeze
  FIRST_ALL_CLEAR = 17 # points
  SOON = 20            # points within which an alarm at a cache that fills has to end once it is full

  attr_reader :series, :states, :guards

  # +verdict+: an object with add(point) and state, as HeapSample::Verdict.
  def initialize(series, verdict)
    @series = series
    @guards = []
    @detectable = []
    @states = series.points.map do |point|
      verdict.add(point)
      @guards << verdict.guard
      @detectable << named_by(verdict)
      verdict.state
    end
  end

  # --- in healthy services

  # "leak" while nothing better could be known
  def early? = alarms.any? { |i| i < known }
  # "leak" at any point after that
  def wrong? = alarms.any? { |i| i >= known }
  # and not only kept from before
  def anew? = alarms.any? { |i| i >= known && (i.zero? || states[i - 1] != :leak) }
  # an early alarm that the series is long enough for, and that did not end in time
  def outlived? = judged_after? && states[known + SOON] == :leak
  def judged_after? = early? && known + SOON < states.size
  # Growth was stated, for the first time or anew, while the last quarter of the points held no more than the first, nor than the second.
  def false_growth? = states.each_index.any? { |i| grows_from?(i) && !grew?(i) }

  # --- in leaks

  # The state so many points after it began; nil if the series is shorter.
  def after(points) = (at = series.begins) && (at + points <= states.size || nil) && states[at + points - 1]
  def found? = alarms.any?
  # Points from its beginning until it was called a leak.
  def delay = found? ? alarms.first - series.begins + 1 : nil
  def taken_back? = states.each_cons(2).any? { |a, b| a == :leak && b != :leak }

  # Looks at which enough points were seen, and the looks with the verdict level, although more leaks than would have been found.
  def looks = [states.size - FIRST_ALL_CLEAR + 1, 0].max
  def false_all_clears = (FIRST_ALL_CLEAR..states.size).select { |n| states[n - 1] == :level && rate(n) > smallest(n) }

  # Bytes a point that leaked in the last three quarters of the first n points.
  def rate(n) = (series.leaked[n - 1] - series.leaked[n / 4]) / (n - 1 - n / 4)

  # The smallest leak that n points show, in bytes a point: what the verdict names, or else noise, or the floor.
  def smallest(n)
    return @detectable[n - 1] if @detectable[n - 1]

    sizes = series.points.first(n).map(&:size)
    noise = sizes.each_cons(2).map { |a, b| (b - a).abs }.sort[(n - 1) / 2] / 0.954
    [200 * noise / n**1.5, series.floor / (0.75 * n)].max
  end

  private

  # Bytes a point of an all-clear for a service that leaks: the other ones cannot be wrong.
  def named_by(verdict)
    return if series.truth == :healthy || verdict.state != :level || !verdict.respond_to?(:detectable) || @guards.size < FIRST_ALL_CLEAR

    verdict.detectable * verdict.interval
  end

  def alarms = @alarms ||= states.each_index.select { |i| states[i] == :leak }
  def known = series.known || states.size
  def grows_from?(index) = %i[grows leak].include?(states[index]) && (index.zero? || !GROWS.include?(states[index - 1]))

  def grew?(index)
    quarter = [(index + 1) / 4, 1].max
    now = series.held[index - quarter + 1, quarter].sum
    [0, quarter].any? { |from| now > series.held[from, quarter].sum }
  end
end
