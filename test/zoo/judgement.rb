# frozen_string_literal: true

require_relative "header"

# The diagnosis of one series, compared with the truth about it.
#
#   judgement = Judgement.new(exhibit.truth, JSON.parse(`heapsample DIR --json`))
#   judgement.outcome      #=> :right
#
# `truth`: Exhibit#truth. `answer`: what the command printed, nil if it failed. `early`: this much of the series was taken
# before the program settled, when it looks the same as a leak.
class Judgement
  LEAKS = %w[confirmed likely].freeze
  OUTCOMES = %i[right grows unknown wrong alarm early silent].freeze
  # What the diagnosis calls each kind of the truth.
  KINDS = { "leak" => %w[objects], "native" => %w[native mapped], "threads" => %w[threads fibers] }.freeze

  def self.grows?(truth) = Header::GROWING.include?(truth["kinds"].first)

  attr_reader :truth

  def initialize(truth, answer, early: false)
    @truth = truth
    @answer = answer
    @early = early
  end

  def state = process["state"]
  def kind = process["kind"]
  def leak? = LEAKS.include?(state)
  def grows? = self.class.grows?(truth)
  def right? = outcome == :right

  # right    a growing program is called a leak; another one is not
  # grows    a growing program: growth is certain, and no leak is named
  # unknown  a growing program: the diagnosis cannot tell, or names a rate above the program's from which it would see a leak
  # wrong    a growing program: no leak was found, or it has ended
  # alarm    a leak in a program that has none
  # early    the same, before the program settled; it counts neither way
  # silent   there was no answer
  def outcome
    return :silent unless @answer
    return of_growing if grows?
    return :right unless leak?

    @early ? :early : :alarm
  end

  # Is growth certain?
  def certain? = leak? || state == "grows"
  # Is the kind of the truth named?
  def kind_right? = truth["kinds"].any? { |one| KINDS.fetch(one, []).include?(kind) }

  # Whether a line of the findings that the diagnosis prints makes the memory; nil where there is none to name.
  def line_right? = truth["lines"].any? ? names?(truth["lines"], *texts(lines.first(1))) : nil

  # The same of what retains it; nil where no walk named anything.
  def keeper_right? = truth["keepers"].any? && holder ? names?(truth["keepers"], holder["name"], *("#{holder["path"]}:#{holder["line"]}" if holder["path"])) : nil

  def line = texts(lines.first(1)).uniq.join(" ← ")
  def keeper = holder ? holder["name"] : ""

  private

  def process = @answer&.fetch("processes", nil)&.first || {}
  def finding = process["findings"]&.first || {}
  def lines = finding["lines"] || []
  def holder = finding["holder"]
  def texts(some) = some.flat_map { |line| line.values_at("app_line", "line") }.compact + [process["created"]].compact

  def of_growing
    return :right if leak?
    return state.to_sym if %w[grows unknown].include?(state)

    state == "none" && truth["rate"].to_f.positive? && process["detectable_per_hour"].to_f > truth["rate"] * 3600 ? :unknown : :wrong
  end

  # A number at the end of a pattern is a whole one: "a.rb:2" is not in "a.rb:21".
  def names?(patterns, *texts)
    patterns.any? { |pattern| texts.compact.any? { |text| text.match?(/#{Regexp.escape(pattern)}(?!(?<=\d)\d)/) } }
  end
end
