# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A Comparison as text, as Markdown for a pull request, and as JUnit for CI.
  class ComparisonText
    COLUMNS = [["verdict", :left], ["base", :right], ["head", :right], ["change", :right], ["99% interval", :right, 2], ["could be found", :right, 1], ["", :left]]
    ROWS = [["verdict", :left], ["change", :right], ["99% interval", :right, 1], ["of the whole", :right], ["", :left]]
    WORDS = {higher: "higher", lower: "lower", noise: "within noise", small: "below the limit"}
    GROUPS = {line: "line", gem: "gem", test: "test"}
    MOST = 10
    # Text in which Markdown sees nothing: no sign, no address, no mention. Names of gems and folders may have these.
    PLAIN = /\A(?:[A-Za-z0-9 ,;+%'()→–-]|[.:](?![A-Za-z]))*\z/
    private_constant :COLUMNS, :ROWS, :MOST, :PLAIN

    def initialize(comparison, layout)
      @comparison = comparison
      @layout = layout
    end

    # What else differs comes before any figure.
    def to_s = @layout.text([[environment, *sentences].flat_map { |one| @layout.sentence(one) }, @layout.title(summary), lines, *sections])

    # The table of whole runs.
    def lines(_ = nil) = @layout.table(COLUMNS, @comparison.totals.map { |row| cells(row) })

    def summary
      higher = @comparison.totals.select(&:higher?).map { |row| "#{title(row.figure)} #{percent(row)}" }
      higher = @comparison.all.select(&:higher?).first(1).map { |row| "#{title(row.figure)} of #{name(row)} #{percent(row)}" } if higher.empty?
      higher.empty? ? "Within noise: nothing is higher." : "Higher: #{higher.join(", ")}."
    end

    def to_markdown
      sections = changes.map { |title, rows| "#### #{title}\n\n#{markdown(ROWS, rows.map { |row| row_cells(row) })}" }
      ["### Memory", prose(environment), prose(summary), markdown(COLUMNS, @comparison.totals.map { |row| cells(row) }), *sections,
       sentences.map { |one| prose(one) }.join(" ")].join("\n\n") + "\n"
    end

    # A test case for each figure, and for each row that is higher.
    def to_junit
      rows = @comparison.totals | @comparison.all.select(&:higher?)
      cases = rows.map do |row|
        failure = row.higher? ? "<failure message=\"#{xml("#{title(row.figure)} #{percent(row)}")}\">#{xml([sentence(row), *stack(row)].join("\n"))}</failure>" : ""
        "  <testcase classname=\"heapsample.compare\" name=\"#{xml([title(row.figure), (name(row) if row.key)].compact.join(": "))}\">#{failure}</testcase>"
      end
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"heapsample compare\" tests=\"#{rows.size}\" failures=\"#{rows.count(&:higher?)}\">\n#{cases.join("\n")}\n</testsuite>\n"
    end

    private

    def sentences
      base, head = @comparison.base, @comparison.head
      ["#{base.path}: #{base.size} run#{"s" unless base.size == 1}; #{head.path}: #{head.size}. The first run of each is left out.", counted, *needed]
    end

    def environment
      different = @comparison.environment.map { |name, one, other| "#{name}: #{one || "none"} → #{other || "none"}" }
      different.empty? ? "Ruby, gems, YJIT and allocator are the same." : "What else differs: #{different.first(MOST).join("; ")}#{"; #{different.size - MOST} more" if different.size > MOST}."
    end

    def counted
      return "Lines, gems and tests are counted by the thread that ran them, from samples." if @comparison.by_thread?

      "Tests are counted for the whole process, and lines and gems are not known: a Ruby without the heap sampler made these runs."
    end

    def needed
      runs = @comparison.runs_needed
      return if runs && runs <= [@comparison.base.size, @comparison.head.size].min

      more = runs ? "#{runs + RunFolder::DISCARDED} runs of each" : "the runs more alike, such as with a fixed seed: they differ too much"
      "To find a change of #{@layout.percent(@comparison.limit)}, make #{more}."
    end

    # What is higher or lower, and where, as titles and rows. Of a total that is higher though no part of it is for certain, the parts
    # that stand out most, of one kind.
    def changes
      @comparison.totals.flat_map do |total|
        certain = GROUPS.map { |group, by| [by, @comparison.rows(total.figure, group).select { |row| %i[higher lower].include?(row.verdict) }] }
        parts = certain.reject { |_, rows| rows.empty? }
        parts = [likely(total.figure)].compact if parts.empty? && total.higher?
        parts.map { |by, rows| ["#{title(total.figure).sub(/\A./, &:upcase)}, by #{by}", rows.first(MOST)] }
      end
    end

    def likely(figure)
      GROUPS.lazy.map { |group, by| ["#{by} (none alone is certain)", @comparison.culprits(figure, group)] }.find { |_, rows| rows.any? }
    end

    def sections = changes.map { |title, rows| [*@layout.title("#{title}:"), *@layout.table(ROWS, rows.map { |row| row_cells(row) })] }

    def cells(row)
      [WORDS.fetch(row.verdict), amount(row, row.base), amount(row, row.head), percent(row), interval(row), "#{format("%.2g", 100.0 * row.detectable / [row.base, 1].max)}%", title(row.figure)]
    end

    def row_cells(row)
      [WORDS.fetch(row.verdict), amount(row, row.difference, sign: true), interval(row), format("%+.1f%%", 100.0 * row.difference / total(row).base), name(row)]
    end

    def total(row) = @comparison.totals.find { |one| one.figure == row.figure }

    def sentence(row)
      "#{name(row) if row.key}#{": " if row.key}#{title(row.figure)}: #{amount(row, row.base)} → #{amount(row, row.head)} (#{percent(row)}, 99% interval #{interval(row)})."
    end

    def stack(row) = row.key ? [] : @comparison.culprits(row.figure, :line).map { |line| "#{amount(line, line.difference, sign: true)} #{name(line)}" }

    def name(row) = row.group == :line ? @comparison.head.place(row.key) || @comparison.base.place(row.key) || row.key : row.key.to_s
    def title(figure) = RunFolder::FIGURES.fetch(figure).first
    def bytes?(row) = RunFolder::FIGURES.fetch(row.figure).last
    def percent(row) = row.change ? format("%+.1f%%", 100 * row.change) : "new"

    def amount(row, value, sign: false)
      return @layout.bytes(value, sign: sign) if bytes?(row)

      "#{"+" if sign && value.positive?}#{"-" if value.negative?}#{@layout.count(value.abs)}"
    end

    def interval(row)
      low, high = row.interval
      return "not known" if low.infinite?

      "#{amount(row, low, sign: true)} – #{amount(row, high, sign: true)}"
    end

    def markdown(columns, rows)
      ["| #{columns.map(&:first).join(" | ")} |", "|#{columns.map { |_, side| side == :right ? " ---: |" : " --- |" }.join}",
       *rows.map { |cells| "| #{[*cells[0..-2], Printable.code(cells.last)].map { |cell| cell.to_s.gsub("|", "\\|") }.join(" | ")} |" }].join("\n")
    end

    def prose(text) = PLAIN.match?(text) ? text : Printable.code(text)

    def xml(text) = Printable.text(text.gsub("\n", "\r")).gsub(/[&<>"]/, "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;").gsub("\\r", "\n")
  end
end
