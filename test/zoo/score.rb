# frozen_string_literal: true

# How often the diagnosis is right on many examinations.
class Score
  # Shares that must be reached.
  TARGETS = { "right after 20 profiles" => 0.95, "right after 8 profiles" => 0.8, "lines right, of the growing that are right" => 1.0,
              "keepers right, of those" => 0.8 }.freeze

  def initialize(examinations)
    @examinations = examinations
  end

  # Name => [how many are right, of how many].
  def shares
    TARGETS.keys.zip([right(:long), right(:short), named(:line_right?), named(:keeper_right?)]).to_h
  end

  # Names of the healthy ones that were called a leak, after either number of profiles.
  def alarms = names { |one| [one.short, one.long, one.last].any? { |judgement| judgement.outcome == :alarm } }
  def unknown = names { |one| one.long.outcome == :unknown }
  def wrong = names { |one| %i[wrong alarm silent].include?(one.long.outcome) }
  def early = names { |one| one.judgements.values.any? { |judgement| judgement.outcome == :early } }

  # "NAME after COUNT: …" where evidence that was added made a right verdict weaker, or another one.
  def weakened
    @examinations.flat_map do |one|
      one.weakened.map { |count, before, after| "#{one.truth["name"]} after #{count}: #{before.kind} #{before.grade} became #{after.kind} #{after.grade}" }
    end
  end

  # Of each healthy one: after how many numbers of profiles from Examination::SHORT on, past the time that it settles, it is
  # called a leak, and after how many it was asked.  Meaningful where every number was (EVERY=1).
  def asked
    @examinations.reject { |one| one.long.grows? }.to_h do |one|
      said = one.judgements.select { |count, judgement| count >= Examination::SHORT && judgement.outcome != :early }.values
      [one.truth["name"], [said.count { |judgement| judgement.outcome == :alarm }, said.size]]
    end
  end

  # Wilson's 95% interval of a share (1927, JASA 22:209-212).
  def self.interval(count, all, square = 1.959964**2)
    middle = (count + (square / 2)) / (all + square)
    half = Math.sqrt((count * (all - count) / all.to_f) + (square / 4)) * Math.sqrt(square) / (all + square)
    [middle - half, middle + half].map { |share| share.clamp(0.0, 1.0) }
  end

  # The sums in words, a line each.
  def lines
    healthy = @examinations.reject { |one| one.long.grows? }.size
    [*shares.map { |name, (right, all)| "#{name}: #{right} of #{all} (#{all.zero? ? "-" : (100.0 * right / all).round}%, wanted #{(TARGETS[name] * 100).round}%)" },
     *{ "called a leak, of #{healthy} healthy ones" => alarms, "the same before they settled" => early, "unknown after 20" => unknown, "wrong after 20" => wrong,
        "right verdicts that evidence made weaker" => weakened }
       .map { |name, list| "#{name}: #{list.size}#{" (#{list.join(", ")})" if list.any?}" }, *(rate if healthy > 0)]
  end

  private

  # Numbers of profiles of one program are no trials of their own: the interval is of programs.
  def rate
    said = asked
    alarms = said.select { |_, (count, _)| count > 0 }
    low, high = Score.interval(alarms.size, said.size).map { |share| format("%.1f", share * 100) }
    "asked from #{Examination::SHORT} profiles on: #{alarms.values.sum(&:first)} of #{said.values.sum(&:last)} answers are alarms, in #{alarms.size} of #{said.size} healthy ones " \
      "(95%: #{low} – #{high}%)#{": #{alarms.keys.join(", ")}" if alarms.any?}"
  end

  def names(&) = @examinations.select(&).map { |one| one.truth["name"] }

  # What is early counts neither way.
  def right(moment)
    counted = @examinations.map(&moment).reject { |judgement| judgement.outcome == :early }
    [counted.count(&:right?), counted.size]
  end

  def named(what)
    said = @examinations.map(&:long).select { |judgement| judgement.grows? && judgement.right? }.map(&what).compact
    [said.count(true), said.size]
  end
end
