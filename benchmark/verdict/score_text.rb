# frozen_string_literal: true

# The tables of a score: by shape, in all, and compared with the goals.
class ScoreText
  HEALTHY = { "wrong" => [:wrong], "anew" => [:anew], "early" => [:early], "ends late" => %i[ended_late judged_after], "false growth" => [:false_growth] }.freeze
  GROWING = { "leak at 20" => %i[leak20 runs20], "at 60" => %i[leak60 runs60], "by the end" => [:found], "grows at 20" => %i[grows20 runs20],
              "at 60 " => %i[grows60 runs60], "by the end " => [:grows], "taken back" => [:taken_back], "all-clears" => %i[all_clears looks] }.freeze
  TITLES = { healthy: "healthy", leak: "leaks", slows: "ever more slowly" }.freeze

  def initialize(score) = @score = score

  # [head, *rows] of each table.
  def tables = [*Service::SHAPES.keys.filter_map { |truth| table(truth) }, goals]

  private

  def table(truth)
    shapes = @score.of(truth)
    return if shapes.empty?

    columns = truth == :healthy ? HEALTHY : GROWING
    rows = shapes.to_a.push(["all", @score.all(truth)]).map { |name, sums| [name, *columns.values.map { |counts| percent(sums.share(*counts)) }] }
    [[TITLES.fetch(truth), *columns.keys.map(&:strip)], *rows]
  end

  def goals
    healthy, leaks = @score.all(:healthy), @score.all(:leak)
    [["measure", "figure", "goal"],
     ["growth certain in leaks after 20 points", percent(leaks.share(:grows20, :runs20)), ">= 97"],
     ["growth stated where nothing grew", percent(healthy.share(:false_growth)), "0"],
     ["leak in leaks after 20 points", percent(leaks.share(:leak20, :runs20)), ">= 90"],
     ["leak in leaks after 60 points", percent(leaks.share(:leak60, :runs60)), ">= 97"],
     ["leak in healthy series once it can be known", percent(healthy.share(:wrong)), "<= 0.1"],
     ["of these, raised anew", percent(healthy.share(:anew)), ""],
     ["leak in a cache that still fills (early)", percent(healthy.share(:early)), "likely"],
     ["of these, still a leak #{Trial::SOON} points after it is full", percent(healthy.share(:ended_late, :judged_after)), "0"],
     ["leak taken back", percent(leaks.share(:taken_back)), "0"],
     ["looks at leaks that said level above the named rate", percent(leaks.share(:all_clears, :looks)), "<= 1"]]
  end

  def percent(share) = share ? format("%.2f", share).sub(/\A(\d{2,}\.\d)\d\z/, '\1') : "-"
end
