# frozen_string_literal: true

require_relative "../../testing"

# src/heap_sampler/settings/settings.inc declares the settings: a row each. What cannot follow from it is checked against it.
class SettingsTest < Test
  TOP = File.expand_path("../../..", __dir__)
  # The name of each, and what it belongs to.
  ROWS = File.read("#{TOP}/src/heap_sampler/settings/settings.inc").scan(/^SETTING\("([a-z-]+)", (\w+), /).to_h
  # What a running process can change, by the names of keywords.
  KEYWORDS = ROWS.reject { |_, of| of == "BOOT" }.keys.map { |name| name.tr("-", "_") }

  def lines(path) = File.readlines("#{TOP}/#{path}", chomp: true)

  test "each is a kind of setting that C has" do
    kinds = File.read("#{TOP}/src/heap_sampler/settings/options.h").scan(/^    HS_OF_(\w+),/).flatten
    assert_equal [], ROWS.values.uniq - kinds
  end

  test "the page has a row and a section for each, in one order, and no others" do
    table = lines("doc/settings.md").filter_map { |line| line[/\A\| \[`([a-z-]+)`\]\(#\1\) \|/, 1] }
    sections = lines("doc/settings.md").filter_map { |line| line[/\A### ([a-z-]+)\z/, 1] }
    assert_equal ROWS.keys.sort, table.sort
    assert_equal table, sections
  end

  test "the types of start have those that a running process can change" do
    signature = lines("sig/gc.rbs").find { |line| line.include?("def self.start:") }
    assert_equal KEYWORDS.sort, signature.scan(/\?(\w+):/).flatten.sort
  end

  test "the manual of start names no setting that it does not take" do
    manual = File.read("#{TOP}/src/heap_sampler/ruby/control.c")[/ \*   GC::SampleProfile\.start\(.*?^static VALUE\ns_start/m]
    named = manual.scan(/^ \* \[(.*?)\]/).flatten.flat_map { |list| list.split(", ") } + manual.scan(/\.start\((.*)\)/).flatten.join(" ").scan(/(\w+): /).flatten
    assert_operator named.uniq.size, :>=, 4
    assert_equal [], named - KEYWORDS - ["others"]
  end

  test "no page and no example names a setting that there is not" do
    words = [*ROWS.keys, "on", "off", "standby", "true", "1"]
    wrong = Dir["#{TOP}/{*.md,doc/*.md,examples/**/*.md}"].flat_map do |page|
      File.read(page).scan(/RUBY_HEAP_SAMPLE='?([a-z][^\s`'’)]*)/).flatten.flat_map { |value| value.split(",") }.map { |one| one[/\A[a-z-]+/] }
          .reject { |name| name.nil? || words.include?(name) }.map { |name| "#{File.basename(page)}: #{name}" }
    end
    assert_equal [], wrong
  end
end
