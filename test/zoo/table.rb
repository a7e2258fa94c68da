# frozen_string_literal: true

# Examinations as a table, a line each.
class Table
  HEADINGS = %w[program truth after\ 20 after\ 60 line keeper since named].freeze
  MARKS = { right: "", grows: "~", unknown: "~", wrong: "✗", alarm: "ALARM", early: "(early)", silent: "-" }.freeze

  def initialize(examinations)
    @examinations = examinations
  end

  def to_s
    rows = [HEADINGS, *@examinations.map { |one| row(one) }]
    widths = rows.transpose.map { |column| column.map(&:size).max }
    rows.map { |cells| cells.zip(widths).map { |cell, width| cell.ljust(width) }.join("  ").rstrip }.join("\n")
  end

  private

  def row(one)
    long = one.long
    [one.truth["name"] + (one.truth["holdout"] ? " *" : ""), one.truth["kinds"].first, verdict(one.short), verdict(long),
     answer(long.line_right?), answer(long.keeper_right?), one.right_after.to_s, [long.line, long.keeper].reject(&:empty?).join(" | ")]
  end

  def verdict(judgement)
    [judgement.state, judgement.kind, MARKS.fetch(judgement.outcome)].compact.reject(&:empty?).join(" ")
  end

  def answer(right) = { true => "yes", false => "no", nil => "" }[right]
end
