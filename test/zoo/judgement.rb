# frozen_string_literal: true

require_relative "header"

# What the diagnosis said of one series, beside the truth about it.
#
#   judgement = Judgement.new(exhibit.truth, JSON.parse(`heapsample DIR --json`))
#   judgement.outcome      #=> :right
#
# `truth`: Exhibit#truth. `answer`: what the command printed, nil if it failed. `early`: this much of the series was taken
# before the program settled, when nobody can tell it from a leak.
class Judgement
  GRADES = %w[none unknown likely confirmed].freeze # the most certain last
  LEAK_GRADES = GRADES.last(2).freeze
  OUTCOMES = %i[right unknown wrong alarm early silent].freeze

  def self.grows?(truth) = Header::GROWING.include?(truth["kinds"].first)

  attr_reader :truth

  def initialize(truth, answer, early: false)
    @truth = truth
    @answer = answer
    @early = early
  end

  def kind = verdict["kind"]
  def grade = verdict["grade"]
  def leak? = LEAK_GRADES.include?(grade)
  def grows? = self.class.grows?(truth)
  def right? = outcome == :right

  # right    a growing program: its kind, for sure; another one: no leak is named
  # unknown  the right kind, of grade unknown; of a healthy program, a kind of leak of grade unknown
  # wrong    of a growing program, anything else
  # alarm    a leak, for sure, in a program that has none
  # early    the same, before the program settled; it counts neither way
  # silent   there was no answer
  def outcome
    return :silent unless @answer
    return of_growing if grows?
    return :right unless Header::GROWING.include?(kind)
    return :unknown unless leak?
    @early ? :early : :alarm
  end

  # Whether the first finding names a line that makes the memory; nil where there is none to name.
  def line_right? = truth["lines"].any? ? names?(truth["lines"], finding["line"], finding["app_line"]) : nil

  # The same of what keeps it.
  def keeper_right? = truth["keepers"].any? ? names?(truth["keepers"], *keeper_texts) : nil

  def line = finding.values_at("app_line", "line").compact.uniq.join(" ← ")
  def keeper = keeper_texts.join(" ")

  # Is what `later` says, with more evidence, less sure or something else? Where this was no sure and right verdict of a
  # growing program it may be.
  def weakened_by?(later)
    return false unless grows? && right?

    later.kind != kind || GRADES.index(later.grade).to_i < GRADES.index(grade)
  end

  private

  # By a walk over the heap, where there was one; else the container that grows.
  def keeper_texts
    holder = finding["holder"]
    return [holder["name"], *("#{holder["path"]}:#{holder["line"]}" if holder["path"])].compact if holder

    finding["keeper"]&.values_at("line", "what").to_a.compact
  end

  def verdict = @answer&.fetch("verdict", nil) || {}
  def finding = @answer&.fetch("findings", nil)&.first || {}

  def of_growing
    return :wrong unless truth["kinds"].include?(kind)
    return :right if leak?
    grade == "unknown" ? :unknown : :wrong
  end

  # A number at the end of a pattern is a whole one: "a.rb:2" is not in "a.rb:21".
  def names?(patterns, *texts)
    patterns.any? { |pattern| texts.compact.any? { |text| text.match?(/#{Regexp.escape(pattern)}(?!(?<=\d)\d)/) } }
  end
end
