# frozen_string_literal: true

require "heapsample"
require_relative "../../zoo/read_once"
require_relative "../../zoo/zoo_series"

# Do the diagnosis of a folder, `leaks` and `shape` say the same of it?
class Agreement
  COUNTS = [8, 20].freeze
  LEAKS = %i[leak threads native].freeze

  # What contradicts, a String each, of a series after some numbers of profiles and all.
  def self.contradictions(name, folder)
    series = ZooSeries.new(folder)
    ReadOnce.during do
      [*COUNTS, series.size].map { |count| [count, series.size].min }.uniq.flat_map do |count|
        series.first(count) { |part| new(part).contradictions.map { |text| "#{name} after #{count}: #{text}" } }
      end
    end
  end

  def initialize(folder)
    @diagnosis = HeapSample::Diagnosis.of(folder)
    @first = @diagnosis.first
    @series = HeapSample::Series.load(folder)
    @leaks = HeapSample::Leaks.new(@series)
    @shape = HeapSample::Shape.new(@series)
  end

  def contradictions = {process: process, sentence: sentence, rows: rows, classes: classes, verdicts: verdicts}.compact.map { |what, text| "#{what}: #{text}" }

  private

  # All judge the process that grew most.
  def process
    pids = [@first.info, @leaks.series.infos.last, @shape.series.infos.last].map(&:process_id)
    pids.inspect unless pids.uniq.one?
  end

  def sentence
    said = [@diagnosis, @leaks, @shape].map { |one| one.text(width: 1000).to_s.lines(chomp: true) }
    wanted = @first.text.sentence
    missing = said.reject { |lines| lines.include?(wanted) }
    "#{wanted.inspect} is not in\n#{missing.first.join("\n")}" if missing.any?
  end

  # A line is named exactly where a leak is, with its grade, and the first is the first finding's.
  def rows
    named = @leaks.map(&:key)
    return "#{named.size} rows are called leaks where the verdict is #{verdict}" if named.any? && !@diagnosis.leak?
    return "a row has the grade #{@leaks.map(&:grade).uniq.join(", ")} where the verdict is #{verdict}" if @leaks.any? { |row| row.grade != @diagnosis.grade }

    line = @diagnosis.findings.first&.line if @diagnosis.leak?
    "the diagnosis names #{line.inspect}, leaks #{named.first.inspect}" unless line.nil? || line == named.first
  end

  # Grouped otherwise, rows leak only where lines do.
  def classes
    named = @leaks.series.leaks(by: :class).map(&:key)
    "#{named} by class where the verdict is #{verdict}" if named.any? && !@diagnosis.leak?
  end

  # The verdicts in the data of all three.
  def verdicts
    said = [@first, @leaks, @shape].map { |one| one.to_h[:verdict] }
    said.join(" / ") unless said.uniq.one?
  end

  def verdict = [@diagnosis.kind, @diagnosis.grade].join(" ")
end
