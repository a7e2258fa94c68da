# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A Diagnosis as text: the worst process in full, a sentence of each other one that grows, and a table of all where there
  # are several.
  class DiagnosisText
    MOST = 20
    # What is shown where processes differ in it.
    ORIGINS = {host: "host", deploy: "deploy"}
    WORDS = {confirmed: "leak (confirmed)", likely: "leak (likely)", grows: "grows (certain)", ended: "ended", none: "no leak found", unknown: "cannot tell"}
    COLUMNS = [["pid", :left], ["RSS", :right], ["grew", :right], ["per hour", :right], ["verdict", :left], ["profiles", :right, 1], ["process", :left]]
    private_constant :COLUMNS, :ORIGINS

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
      @first = ProcessDiagnosisText.new(diagnosis.first, layout)
    end

    def to_s = several? ? "#{@layout.text([processes, *others.map { |one| @layout.sentence(one) }])}\n#{@first}" : @first.to_s

    def lines(_ = nil) = [*processes, *others.flat_map { |one| @layout.sentence(one) }, *@first.lines]

    def summary = @first.summary

    # As Diagnosis#to_h, with the sentences of this text.
    def to_h = @diagnosis.to_h { |process| ProcessDiagnosisText.new(process, @layout) }

    # The same as Markdown, for an issue or a chat.
    def to_markdown = DiagnosisText.new(@diagnosis, @layout.markdown).markdown

    def markdown # :nodoc:
      ["## #{@layout.name(@first.sentence)}", @first.evidence.join(" "), findings, steps, @first.gc.join(" "), (markdown_table if several?), *others]
        .compact.reject(&:empty?).join("\n\n") + "\n"
    end

    private

    def several? = @diagnosis.processes.size > 1

    def processes
      return [] unless several?

      all = @diagnosis.processes
      [*@layout.title("#{all.size} processes or groups of workers, the worst first:"), *@layout.table(columns, all.first(MOST).map { |process| cells(process) }), *@layout.more(all.size - MOST)]
    end

    # Of the other processes that grow, a sentence.
    def others
      @diagnosis.processes.drop(1).select(&:grows?).map { |process| "#{pids(process)}: #{ProcessDiagnosisText.new(process, @layout).sentence}" }
    end

    def pids(process) = ProcessDiagnosisText.pids(process)

    def cells(process)
      rate = process.rate&.at(1)
      [pids(process), process.rss ? @layout.bytes(process.rss) : Layout::NOTHING, process.growing_bytes.any? ? @layout.bytes(process.grew, sign: true) : Layout::NOTHING,
       rate ? @layout.bytes(rate, sign: true) : Layout::NOTHING, WORDS.fetch(process.state), process.members.sum(&:size),
       *origins.keys.map { |name| @layout.bare(process.info.public_send(name) || "?") }, (@layout.bare(process.title) if process.title).to_s]
    end

    def columns = [*COLUMNS[0...-1], *origins.values.map { |title| [title, :left] }, COLUMNS.last]

    def origins
      @origins ||= ORIGINS.select { |name, _| @diagnosis.processes.map { |process| process.info.public_send(name) }.uniq.size > 1 }
    end

    def findings
      @first.shown.map do |finding|
        line = ["#{@layout.bytes(finding.space, sign: true)} at #{@layout.subject(finding.line.subject)}", *(@first.retained(finding) if finding.holder&.named?)].join(", ")
        "- #{[line, *@first.facts(finding)].join(". ")}"
      end.join("\n")
    end

    def steps = @first.steps.map { |step| "**Next:** #{[step.sentence, *(Printable.code(step.command) if step.command)].join(" ")}" }.join("\n")

    def markdown_table
      lines = @diagnosis.processes.first(MOST).map { |process| "| #{cells(process).map { |cell| cell.to_s.gsub("|", "\\u007C") }.join(" | ")} |" }
      ["| #{columns.map(&:first).join(" | ")} |", "|#{" --- |" * columns.size}", *lines].join("\n")
    end
  end
end
