# frozen_string_literal: true

# How often the diagnosis is right on many examinations.
class Score
  # What issue 14 asks for.
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
  def hedged = names { |one| one.long.outcome == :hedged }
  def wrong = names { |one| %i[wrong alarm silent].include?(one.long.outcome) }
  def early = names { |one| one.judgements.values.any? { |judgement| judgement.outcome == :early } }

  # "NAME after COUNT: …" where evidence that was added made a right verdict weaker, or another one.
  def weakened
    @examinations.flat_map do |one|
      one.weakened.map { |count, before, after| "#{one.truth["name"]} after #{count}: #{before.kind} #{before.grade} became #{after.kind} #{after.grade}" }
    end
  end

  # The sums in words, a line each.
  def lines
    healthy = @examinations.reject { |one| one.long.grows? }.size
    [*shares.map { |name, (right, all)| "#{name}: #{right} of #{all} (#{all.zero? ? "-" : (100.0 * right / all).round}%, wanted #{(TARGETS[name] * 100).round}%)" },
     *{ "called a leak, of #{healthy} healthy ones" => alarms, "the same before they settled" => early, "hedged after 20" => hedged, "wrong after 20" => wrong,
        "right verdicts that evidence made weaker" => weakened }
       .map { |name, list| "#{name}: #{list.size}#{" (#{list.join(", ")})" if list.any?}" }]
  end

  private

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
