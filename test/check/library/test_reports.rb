# frozen_string_literal: true

require_relative "../../testing"
require "heapsample"

# HeapSample::Reports declares the reports of a profile. What lists them elsewhere is checked against it here.
class ReportsTest < Test
  TOP = File.expand_path("../../..", __dir__)
  NAMES = HeapSample::Reports.public_instance_methods(false).sort
  # Parts of a report that have a text of their own.
  PARTS = %i[heap_pages malloc_functions].freeze
  LOOK = %i[width root style stacks].freeze

  def self.class_of(name) = HeapSample.const_get(name.to_s.split("_").map(&:capitalize).join)

  # Keywords that #initialize takes; :keyrest if it takes any.
  def keywords(report)
    report.instance_method(:initialize).parameters.filter_map { |type, name| type == :keyrest ? type : name if type.to_s.start_with?("key") }
  end

  def lines(path) = File.readlines(File.join(TOP, path), chomp: true)

  test "there are reports" do
    assert_includes NAMES, :report
    assert_operator NAMES.size, :>=, 5
  end

  NAMES.each do |name|
    test "#{name} is a class of data, and a text in the file next to it" do
      report = ReportsTest.class_of(name)
      assert_includes report.ancestors, HeapSample::Analysis
      assert_equal ReportsTest.class_of("#{name}_text"), report::TEXT
      file, text_file = [report, report::TEXT].map { |one| one.instance_method(:initialize).source_location.first }
      assert_equal ["#{name}.rb", "#{name}_text.rb"], [file, text_file].map { |path| File.basename(path) }
      assert_equal [true] * 3, %i[to_s lines summary].map { |method| report::TEXT.public_method_defined?(method) }
    end
  end

  test "a profile has the methods of Reports, and none of its own" do
    assert_equal [HeapSample::Reports], NAMES.map { |name| HeapSample::Profile.instance_method(name).owner }.uniq
  end

  test "each text of a report is of a declared one" do
    texts = Dir.children(File.join(TOP, "src/lib/heapsample/analysis")).filter_map { |name| name[/\A(.+)_text\.rb\z/, 1]&.to_sym }
    assert_equal (NAMES + PARTS).sort, texts.sort
  end

  test "the types have the same reports" do
    signatures = lines("sig/heapsample.rbs")
    module_at = signatures.index { |line| line.start_with?("  module Reports") }
    methods = signatures.drop(module_at + 1).take_while { |line| line != "  end" }.map { |line| line[/def (\w+):/, 1].to_sym }
    assert_equal NAMES, methods.sort
    assert_includes lines("sig/gc.rbs"), "    include HeapSample::Reports"
  end

  test "the manual has a table of the same reports" do
    table = lines("doc/ruby-api.md").drop_while { |line| line != "| method | shows |" }.drop(2).take_while { |line| line.start_with?("|") }
    assert_equal NAMES, table.map { |line| line[/\A\| `(\w+)` \|/, 1].to_sym }.sort
  end

  test "no report, of one profile or of several, takes a width, a root or a style" do
    reports = HeapSample.constants.map { |name| HeapSample.const_get(name) }.grep(Class).select { |klass| klass < HeapSample::Analysis }
    assert_operator reports.size, :>, NAMES.size
    takes = reports.to_h { |report| [report, keywords(report) & [*LOOK, :keyrest]] }
    assert_equal({}, takes.reject { |_, names| names.empty? })
  end
end
