# frozen_string_literal: true

module HeapSample
  # A row of bars for figures over time: "▁▁▂▃▅█".
  module Plot
    BARS = "▁▂▃▄▅▆▇█"

    # +least+: the figure of the lowest bar; +most+: how much more a full one is; +width+: bars at most.
    def self.bars(figures, most, width, least: figures.min)
      width = [width, figures.size].min
      groups = figures.each_index.group_by { |index| index * width / figures.size }.values
      groups.map do |group|
        mean = group.sum { |index| figures[index] } / group.size.to_f
        BARS[((mean - least) / most * BARS.size).floor.clamp(0, BARS.size - 1)]
      end.join
    end
  end
end
