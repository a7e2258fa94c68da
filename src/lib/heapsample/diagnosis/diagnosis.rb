# frozen_string_literal: true

module HeapSample
  # The answer first: what each process of a folder of profiles does with its memory, the one that grew most first.
  #
  #   puts HeapSample::Diagnosis.of("/var/tmp/profiles")
  #   HeapSample::Diagnosis.of("/var/tmp/profiles").leak?   #=> true
  #
  # It is the ProcessDiagnosis of the first process in full, a sentence of each other one that leaks, and a table of all.
  class Diagnosis
    include Analysis
    include Enumerable

    TEXT = DiagnosisText

    # ProcessDiagnosis of each process, the one that grew most first.
    attr_reader :processes
    # What was left out and why, an Array of String.
    attr_reader :warnings

    # call-seq:
    #   Diagnosis.of(paths) -> diagnosis
    #   Diagnosis.of(series) -> diagnosis
    #
    # +paths+: a folder of profiles, a file, or an Array of them; or a HeapSample::Series, or profiles.  Raises FormatError if no
    # file can be read, SystemCallError if a path is not there.
    def self.of(what)
      new(Series.all(what))
    end

    # ProcessDiagnosis of each of some Series, the one that grew most first; then those of which nothing can be said.
    def self.in_order(series) # :nodoc:
      series.map { |one| ProcessDiagnosis.new(one) }
            .sort_by.with_index { |process, index| [*(process.enough? ? [0, -process.rss.grew] : [1, -process.series.size]), index] }
    end

    # +series+: an Array of Series, of a process each.
    # +warnings+: about files that are left out.
    def initialize(series, warnings: [])
      @processes = Diagnosis.in_order(series)
      @warnings = [*warnings, *series.flat_map(&:warnings)]
    end

    # The process that grew most.
    def first = processes.first
    # Yields the ProcessDiagnosis of each process, the one that grew most first.
    def each(&block) = processes.each(&block)

    # Does the process that grew most leak?
    def leak? = first.leak?
    # What grows in it: see ProcessDiagnosis#kind.
    def kind = first.kind
    # How certain a leak is: see ProcessDiagnosis#grade.
    def grade = first.grade
    # The lines that grow in it: Array of Finding.
    def findings = first.shown_findings

    # JSON-ready: the process that grew most, and all.  With +stacks+, findings have their stacks.
    # The block makes the text of a process, whose sentences are in it.
    def to_h(stacks: true, &text)
      all = processes.map { |process| process.to_h(stacks: stacks, text: text ? yield(process) : process.text) }
      all.first.slice(:verdict, :findings, :evidence, :next).merge(processes: all, warnings: warnings)
    end

    private

    # That of the process that is told first.
    def directory = @processes&.first&.info&.directory
  end
end
