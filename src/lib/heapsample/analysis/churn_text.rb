# frozen_string_literal: true

module HeapSample
  # A Churn as text.
  class ChurnText
    def initialize(churn, layout)
      @churn = churn
      @layout = layout
      @top = TopText.new(churn.top, layout)
    end

    def to_s
      @layout.text([Header.part(@churn.profile, @layout), lines, conclusion])
    end

    # Title and table with at most +count+ rows.
    def lines(count = nil)
      return @layout.title(@top.title) if @churn.total.zero?

      [*@layout.title(@top.title), *@layout.sentence(whole), *AwaitsMajor.lines(@churn.profile, @layout, @churn.top.value.kind), *@top.table(count)]
    end

    # The same without remarks, as a part of a report; none if there is nothing.
    def section(count)
      @churn.total.zero? ? [] : [*@layout.title(@top.title), *@top.table(count, notes: false)]
    end

    def summary = @top.title

    private

    def whole
      parts = []
      parts << "#{@layout.bytes(@churn.rate)} a second#{memory}" if @churn.rate
      parts << "#{freed(@churn.all)} freed#{lived(@churn.all)}" if @churn.freed_share
      parts.empty? ? "" : "#{parts.join("; ")}."
    end

    # Which memory a rate is of, where it is not of all.
    def memory = Value.part_of_all(@churn.profile, @churn.top.value.kind)

    def freed(group)
      low, high = group.freed_interval
      return @layout.percent(group.freed_share) unless low

      "#{@layout.percent(group.freed_share)} (#{@layout.percents(low, high)})"
    end

    def lived(group)
      group.lifetime ? format(", after %.1f GCs on average", group.lifetime) : ""
    end

    def conclusion
      entry = @churn.first
      return [] unless entry

      found = " #{freed(entry.group)} of it was freed#{lived(entry.group)}." if entry.group.freed_share
      weak = " Too few samples to rely on." if entry.weak?
      @layout.sentence("Most allocation: #{@layout.subject(entry.key)} allocated #{@layout.size(entry.estimate)} " \
                       "#{@layout.bracketed(entry.estimate)}, #{@layout.share(entry.value, @churn.total.space)} of the total.#{found}#{weak}")
    end
  end
end
