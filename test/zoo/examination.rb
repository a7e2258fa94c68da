# frozen_string_literal: true

require_relative "diagnosis"
require_relative "judgement"
require_relative "read_once"
require_relative "series_walks"
require_relative "zoo_series"

# One series judged after 20 profiles, after 60, and after some other numbers of them.
class Examination
  SHORT = 20
  LONG = 60
  FEWEST = 3

  # Judgement after so many profiles.
  attr_reader :judgements, :truth, :warnings
  # SeriesWalks of the whole series.
  attr_reader :walks

  # `counts`: after how many profiles, nil for all numbers of them. `diagnosis`: ZooDiagnosis, or what has its #of.
  def initialize(truth, folder, counts: nil, diagnosis: ZooDiagnosis)
    @truth = truth
    @diagnosis = diagnosis
    @warnings = []
    series = ZooSeries.new(folder)
    wanted = (counts ? [*counts, series.size] : (FEWEST..series.size)).map { |count| [count, series.size].min }.uniq.sort
    ReadOnce.during do
      @judgements = wanted.to_h { |count| [count, judge(series, count)] }
      @walks = SeriesWalks.of(series.paths)
    end
  end

  def short = at(SHORT)
  def long = at(LONG)
  def last = @judgements.values.last
  def grows? = Judgement.grows?(truth)

  # From how many profiles on all verdicts are right; nil if the last one is not.
  def right_after
    wrong = @judgements.reject { |_, judgement| %i[right early].include?(judgement.outcome) }.keys.last
    wrong ? @judgements.keys.find { |count| count > wrong } : @judgements.keys.first
  end

  # Numbers of profiles after which a leak that was named of a growing program is not named any more.
  def taken_back
    return [] unless grows?

    @judgements.each_cons(2).filter_map { |(_, before), (count, after)| count if before.leak? && !after.leak? }
  end

  private

  # Of a series that is shorter, its last.
  def at(count) = @judgements.select { |known, _| known <= count }.values.last || last

  def judge(series, count)
    # That it is full shows when it has been full for a third of the time that it took to fill.
    early = series.seconds(count) < truth["settles"] * 4 / 3
    Judgement.new(truth, series.first(count) { |folder| @diagnosis.of(folder) { |why| @warnings << "#{truth["name"]} after #{count}: #{why}" } }, early: early)
  end
end
