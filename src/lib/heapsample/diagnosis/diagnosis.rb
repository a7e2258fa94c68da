# frozen_string_literal: true

module HeapSample
  # The answer first: does each process of a folder of profiles leak, and where? The worst is first.
  #
  #   puts HeapSample::Diagnosis.of("/var/tmp/profiles")
  #   HeapSample::Diagnosis.of("/var/tmp/profiles").leak?   #=> true
  #
  # Processes that run the same code on one host, as the workers of a server do, are judged together. Two sessions of one
  # process are judged apart.
  class Diagnosis
    include Analysis
    include Enumerable

    TEXT = DiagnosisText

    # ProcessDiagnosis of each process, or of several that run the same code; the worst first.
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

    # +series+: an Array of Series, of a process each.
    # +warnings+: about files that are left out.
    def initialize(series, warnings: [])
      @warnings = [*warnings, *series.flat_map(&:warnings)]
      @processes = siblings(series).map { |members| ProcessDiagnosis.new(members) }.sort_by.with_index { |process, index| [*order(process), index] }
    end

    # The process that is worst.
    def first = processes.first
    # Yields the ProcessDiagnosis of each process, the worst first.
    def each(&block) = processes.each(&block)

    # Does one of the processes leak?
    def leak? = first.leak?
    # The state of the worst: see ProcessDiagnosis.
    def state = first.state
    # What grows in it: see ProcessDiagnosis#kind.
    def kind = first.kind
    # What grows in it: Array of Finding.
    def findings = first.findings

    # JSON-ready: all processes, the worst first.  With +stacks+, lines have their stacks.
    # The block makes the text of a process, whose sentences are in it.
    def to_h(stacks: true, &text)
      all = processes.map { |process| process.to_h(stacks: stacks, text: text ? yield(process) : process.text) }
      {state: state, processes: all, warnings: warnings}
    end

    private

    # Arrays of Series whose processes run the same code. No two are sessions of one process: the first session of a process
    # is judged with the first sessions of the others.
    def siblings(series)
      parents = series.map { |one| one.infos.last.parent_id }
      sessions = Hash.new(0)
      series.group_by { |one| one.infos.last.then { |info| [alike(info, parents), sessions[info.process_start] += 1] } }.values
    end

    # Equal for processes that run the same code: same host, deploy, folder and title but for numbers. A parent is none of its
    # children.
    def alike(info, parents)
      return info.process_start if info.title.nil? || info.process_id.nil?

      [info.host, info.deploy, info.directory, info.title.gsub(/\d+/, "0"), parents.include?(info.process_id)]
    end

    def order(process)
      [ProcessDiagnosis::STATES.index(process.state), -(process.rate&.at(1) || 0), -(process.rss || 0)]
    end

    # The directory of the first process.
    def directory = @processes&.first&.info&.directory
  end
end
