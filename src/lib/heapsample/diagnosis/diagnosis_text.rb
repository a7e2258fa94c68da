# frozen_string_literal: true
# shareable_constant_value: literal

module HeapSample
  # A Diagnosis as text: the process that grew most, and a table of all where there are several.
  class DiagnosisText
    MOST = 20
    # So many of the other processes are told in a sentence.
    OTHERS = 3
    # So many that had too few profiles are rows of the table; more are a line below it.
    SHORT_MOST = 3
    # What is shown where processes differ in it.
    ORIGINS = {host: "host", deploy: "deploy"}
    COLUMNS = [["pid", :right], ["RSS", :right], ["growth", :right], ["kind", :left], ["grade", :left], ["profiles", :right, 1], ["process", :left]]
    private_constant :COLUMNS, :ORIGINS, :SHORT_MOST

    def initialize(diagnosis, layout)
      @diagnosis = diagnosis
      @layout = layout
      @first = ProcessDiagnosisText.new(diagnosis.first, layout)
    end

    def to_s = several? ? "#{@layout.text([processes, others.flat_map { |one| @layout.sentence(one) }])}\n#{@first}" : @first.to_s

    def lines(_ = nil) = [*processes, *others.flat_map { |one| @layout.sentence(one) }, *@first.lines]

    def summary = @first.summary

    # As Diagnosis#to_h, with the sentences of this text.
    def to_h = @diagnosis.to_h { |process| ProcessDiagnosisText.new(process, @layout) }

    # The same as Markdown, for an issue or a chat.
    def to_markdown = DiagnosisText.new(@diagnosis, @layout.markdown).markdown

    def markdown # :nodoc:
      ["## #{@layout.name(@first.sentence)}", evidence, findings, advice, (markdown_table if several?), *others].compact.reject(&:empty?).join("\n\n") + "\n"
    end

    private

    def several? = @diagnosis.processes.size > 1

    def processes
      return [] unless several?

      [*@layout.title("#{@diagnosis.processes.size} processes, the one that grew most first:"),
       *@layout.table(columns, rows.first(MOST).map { |process| cells(process) }), *@layout.more(rows.size - MOST), *@layout.sentence(short_ones)]
    end

    # Those that have a row, if there is room for it.
    def rows = @rows ||= short.size > SHORT_MOST ? @diagnosis.processes - short : @diagnosis.processes

    # Of these nothing can be said: they lived too short, as children that do a job each.
    def short = @short ||= @diagnosis.processes.drop(1).reject(&:enough?)

    def short_ones
      return "" if rows.size == @diagnosis.processes.size

      largest = short.filter_map(&:rss_now).max
      "and #{short.size} with too few profiles to judge#{", the largest of #{@layout.bytes(largest)}" if largest}"
    end

    # Of the other processes that leak, a sentence: one that grew less may leak, and the one that grew most need not.
    def others
      rest = leaking.map { |group| group - [@diagnosis.first] }
      leaking.zip(rest).reject { |_, few| few.empty? }.first(OTHERS).map do |group, few|
        next "#{named(few)} where process #{@diagnosis.first.info.process_id} does." if group.include?(@diagnosis.first)

        told, *alike = few
        "Process #{told.info.process_id}: #{ProcessDiagnosisText.new(told, @layout).sentence}#{" #{named(alike)} there, too." if alike.any?}"
      end
    end

    # "Processes 5 and 6 leak"
    def named(processes)
      *ids, last = processes.map { |process| process.info.process_id }
      ids.empty? ? "Process #{last} leaks" : "Processes #{ids.join(", ")} and #{last} leak"
    end

    # Those that leak, by the line.
    def leaking
      @leaking ||= @diagnosis.processes.select(&:leak?).each_with_object([]) do |process, groups|
        same = groups.find { |group| same_line?(group.first, process) }
        same ? same << process : groups << [process]
      end
    end

    def same_line?(*processes)
      one, other = processes.map { |process| process.shown_findings.first }
      processes.map(&:kind).uniq.one? && one && other && one.same_line?(other)
    end

    def cells(process)
      [process.info.process_id, process.rss_now ? @layout.bytes(process.rss_now) : Layout::NOTHING,
       process.enough? ? @layout.bytes(process.rss.grew, sign: true) : Layout::NOTHING, process.kind || Layout::NOTHING, process.grade, process.series.size,
       *origins.keys.map { |name| @layout.bare(process.info.public_send(name) || "?") }, (@layout.bare(process.role) if process.role).to_s]
    end

    def columns = [*COLUMNS[0...-1], *origins.values.map { |title| [title, :left] }, COLUMNS.last]

    def origins
      @origins ||= ORIGINS.select { |name, _| @diagnosis.processes.map { |process| process.info.public_send(name) }.uniq.size > 1 }
    end

    def evidence = @first.evidence.join(" ")
    def advice = @first.advice.map { |one| "**Next:** #{one}" }.join("\n")

    def findings
      @diagnosis.findings.first(ProcessDiagnosisText::FINDINGS).map do |finding|
        "- #{@layout.bytes(finding.grew, sign: true)} at #{@layout.subject(finding.app_line || finding.line)}" \
          "#{" by #{@layout.subject(finding.line)}" if finding.app_line && finding.app_line != finding.line}"
      end.join("\n")
    end

    def markdown_table
      lines = rows.first(MOST).map { |process| "| #{cells(process).map { |cell| cell.to_s.gsub("|", "\\u007C") }.join(" | ")} |" }
      ["| #{columns.map(&:first).join(" | ")} |", "|#{" --- |" * columns.size}", *lines, *("\n#{short_ones}" unless short_ones.empty?)].join("\n")
    end
  end
end
