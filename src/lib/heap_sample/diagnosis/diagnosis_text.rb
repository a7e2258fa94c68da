# frozen_string_literal: true

module HeapSample
  # A Diagnosis as text: the process that grew most, and a table of all where there are several.
  class DiagnosisText
    MOST = 20
    # What is shown where processes differ in it.
    ORIGINS = {host: "host", deploy: "deploy"}.freeze
    COLUMNS = [["pid", :right], ["RSS", :right], ["growth", :right], ["verdict", :left], ["how sure", :left, 2], ["profiles", :right, 1], ["process", :left]].freeze
    private_constant :COLUMNS, :ORIGINS

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
      @first = ProcessDiagnosisText.new(diagnosis.first, layout)
    end

    def to_s = several? ? "#{@layout.text([processes])}\n#{@first}" : @first.to_s

    def lines(_ = nil) = [*processes, *@first.lines]

    def summary = @first.summary

    def to_markdown
      ["## #{@layout.name(@first.sentence)}", evidence, findings, advice, (markdown_table if several?)].compact.reject(&:empty?).join("\n\n") + "\n"
    end

    private

    def several? = @diagnosis.processes.size > 1

    def processes
      return [] unless several?

      shown = @diagnosis.processes.first(MOST)
      [*@layout.title("#{@diagnosis.processes.size} processes, the one that grew most first:"),
       *@layout.table(columns, shown.map { |process| cells(process) }), *@layout.more(@diagnosis.processes.size - shown.size)]
    end

    def cells(process)
      [process.info.process_id, process.rss_now ? @layout.bytes(process.rss_now) : Layout::NOTHING,
       process.enough? ? @layout.bytes(process.rss.grew, sign: true) : Layout::NOTHING, process.kind, grade(process), process.series.size,
       *origins.keys.map { |name| process.info.public_send(name) || "?" }, process.role.to_s]
    end

    def columns = [*COLUMNS[0...-1], *origins.values.map { |title| [title, :left] }, COLUMNS.last]

    def origins
      @origins ||= ORIGINS.select { |name, _| @diagnosis.processes.map { |process| process.info.public_send(name) }.uniq.size > 1 }
    end

    def grade(process) = process.grade == :none ? Layout::NOTHING : ProcessDiagnosis::GRADES.fetch(process.grade)

    def evidence = @first.evidence.join(" ")
    def advice = @first.advice.map { |one| "**Next:** #{one}" }.join("\n")

    def findings
      @diagnosis.findings.first(ProcessDiagnosisText::FINDINGS).map do |finding|
        "- #{@layout.bytes(finding.grew, sign: true)} at `#{@layout.place(finding.app_line || finding.line)}`" \
          "#{" by `#{@layout.place(finding.line)}`" if finding.app_line && finding.app_line != finding.line}"
      end.join("\n")
    end

    def markdown_table
      rows = @diagnosis.processes.first(MOST).map { |process| "| #{cells(process).map { |cell| Layout.clean(cell.to_s).gsub("|", "\\|") }.join(" | ")} |" }
      ["| #{columns.map(&:first).join(" | ")} |", "|#{" --- |" * columns.size}", *rows].join("\n")
    end
  end
end
