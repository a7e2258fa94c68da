# frozen_string_literal: true

# How often the diagnosis is right on many examinations.
class Score
  # Shares that must be reached: of growing programs, and of healthy ones.
  TARGETS = { "growth certain after 20 profiles" => 0.97, "leak after 20 profiles" => 0.9, "leak after 60 profiles" => 0.97,
              "lines right, of the leaks" => 0.95, "retained by the right thing, where it is named" => 0.9 }.freeze

  def initialize(examinations)
    @examinations = examinations
  end

  # Name => [how many are right, of how many].
  def shares
    TARGETS.keys.zip([of_growing { |one| one.short.certain? }, of_growing { |one| one.short.leak? }, of_growing { |one| one.long.leak? },
                      named(:line_right?), named(:keeper_right?)]).to_h
  end

  # Names of the healthy ones that were called a leak once it could be known.
  def alarms = names { |one| one.judgements.values.any? { |judgement| judgement.outcome == :alarm } }
  # The same before it could be known.
  def early = names { |one| one.judgements.values.any? { |judgement| judgement.outcome == :early } }
  # Growing ones of which it was said that no leak above a rate was found, which they had, or that they ended.
  def wrong = names { |one| one.judgements.values.any? { |judgement| %i[wrong silent].include?(judgement.outcome) } }
  # Growing ones that were called a leak, and then not.
  def taken_back = names { |one| one.taken_back.any? }
  def grows = names { |one| one.grows? && one.long.outcome == :grows }
  def unknown = names { |one| one.grows? && one.long.outcome == :unknown }

  # Wilson's 95% interval of a share (1927, JASA 22:209-212).
  def self.interval(count, all, square = 1.959964**2)
    middle = (count + (square / 2)) / (all + square)
    half = Math.sqrt((count * (all - count) / all.to_f) + (square / 4)) * Math.sqrt(square) / (all + square)
    [middle - half, middle + half].map { |share| share.clamp(0.0, 1.0) }
  end

  # The sums in words, a line each.
  def lines
    healthy = @examinations.reject(&:grows?).size
    [*shares.map { |name, (right, all)| "#{name}: #{right} of #{all} (#{share(right, all)}, wanted #{(TARGETS[name] * 100).round}%)" },
     *{ "called a leak, of #{healthy} healthy ones" => alarms, "the same before it could be known" => early, "growing, and called fine" => wrong,
        "leaks taken back" => taken_back, "growth certain, no leak named, at the end" => grows, "cannot tell, at the end" => unknown }
       .map { |name, list| "#{name}: #{list.size}#{" (#{list.join(", ")})" if list.any?}" }]
  end

  private

  def share(right, all) = all.zero? ? "-" : "#{(100.0 * right / all).round}%; 95%: #{Score.interval(right, all).map { |limit| (limit * 100).round }.join(" – ")}%"
  def names(&) = @examinations.select(&).map { |one| one.truth["name"] }
  def of_growing(&) = @examinations.select(&:grows?).then { |all| [all.count(&), all.size] }

  def named(what)
    said = @examinations.select(&:grows?).map(&:long).select(&:leak?).map(&what).compact
    [said.count(true), said.size]
  end
end
