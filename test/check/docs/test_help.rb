# frozen_string_literal: true

require "heapsample/tool"
require "stringio"
require_relative "docs"
require_relative "plain"

# The help texts are plain and complete: of heapsample and its commands, of ruby --help, of its man page and options.md,
# and of make.
class HelpTest < DocsTest
  EXAMPLE_WITHIN = 6      # lines from the top
  # The name of a value says what it is; the name of a number is its unit.
  VALUES = %w[ADDRESS CHARACTERS FILE FOLDER FORMAT GCS KIND LINES NAME NAME=VALUE NODES OUTPUT PATH PATH|NAME PERCENT PROFILES ROWS RUNS SECONDS SHARE SIZE TEXT VALUE VERDICTS WHEN].freeze
  SETTING_VALUES = %w[size path seconds number share name address:port 1/number on off share|number share|size].freeze

  # A name, what stands behind it, and the heading above it.
  Entry = Struct.new(:name, :text, :heading)

  # A help text with a list of entries, whose texts begin at a column.
  class Help
    attr_reader :name, :lines, :entries, :prose

    def initialize(name, text, column)
      @name = name
      @lines = text.lines(chomp: true)
      @column = column
      @entries, @prose, heading = [], [], ""
      @lines.each do |line|
        heading = line if line.end_with?(":")
        read(line, heading)
      end
    end

    def first = lines.first.to_s
    def wrong_words = Plain.wrong(name, [prose.join("\n"), *entries.map(&:text)].join("\n\n"))
    def example?(start) = lines.first(EXAMPLE_WITHIN).any? { |line| line.match?(/^ {4}#{start} /) }

    private

    def read(line, heading)
      case line
      when /^ {4}(?:heapsample|make) / then prose << "" << line[/\S {2,}(?:# )?(\S.*)/, 1].to_s << ""    # an example and its comment
      when /^ {#{@column}}(\S.*)/ then entries.last.text << " " << $1
      when /^ {2,}\S/ then entries << entry(line, heading)
      else prose << line
      end
    end

    def entry(line, heading)
      return Entry.new(line.strip, +"", heading) unless line[@column - 1] == " "

      Entry.new(line[0, @column].strip, line[@column..], heading)
    end
  end

  NAMES = HeapSample::Tool::Commands::NAMES

  # The texts, each made once.
  module Texts
    module_function

    def main = @main ||= Help.new("heapsample --help", heapsample("--help"), 17)
    def commands = @commands ||= NAMES.to_h { |name| [name, Help.new("heapsample #{name} --help", heapsample(name, "--help"), 28)] }
    def make = @make ||= Help.new("make help", Open3.capture2e("make", "-s", "-C", Docs::TOP, "help").first, 23)
    def ruby_help = @ruby_help ||= Docs.ruby("--help")
    def option = @option ||= Help.new("ruby --help", ruby_help[/^  --heap-sample.*\n(?: {18}.*\n)+/].to_s, 18)
    def settings = @settings ||= Help.new("ruby --help", ruby_help[/^Heap sample settings.*\n(?:  .*\n)+/].to_s, 18)
    def man = added("ruby-option.patch", "man/ruby.1")
    def options_md = added("ruby-option.patch", "doc/ruby/options.md")

    # What heapsample prints for these arguments.
    def heapsample(*arguments)
      stdout, $stdout = $stdout, StringIO.new
      HeapSample::Tool::CLI.new(arguments).run
      $stdout.string
    ensure
      $stdout = stdout
    end

    # The lines that a patch adds to a file.
    def added(patch, file)
      Docs.read("patches/3.4/#{patch}")[/^\+\+\+ b\/#{Regexp.escape(file)}\n(.*?)(?=^--- a\/|\z)/m, 1].to_s.scan(/^\+(.*\n)/).join
    end
  end

  def main = Texts.main
  def commands = Texts.commands
  def make = Texts.make

  # [help, entry, name of its value if it has one] of each option of each command.
  def options
    commands.values.flat_map { |help| help.entries.filter_map { |entry| [help.name, entry, entry.name[/--[a-z-]+ (\S+)\z/, 1]] if entry.name.include?("--") } }
  end

  # A page of mdoc as text: names count as a word each.
  def mdoc(text) = text.gsub(/^\.(?:It|Pp|Bl|El|Dl|Op)\b.*/, "\n").gsub(/^\.(?:Ar|Cm|Ev|Pa) \S+/, "CODE")

  test "help of heapsample and of make has plain words, and sentences of at most #{Plain::LONGEST} words" do
    assert_none [main, *commands.values, make].flat_map(&:wrong_words)
  end

  test "ruby --help has plain words, and short sentences", missing: NOT_BUILT do
    assert_none [Texts.option, Texts.settings].flat_map(&:wrong_words)
  end

  test "the man page and options.md have plain words, and short sentences" do
    assert_none({"man ruby" => mdoc(Texts.man), "options.md" => Texts.options_md}.flat_map { |name, text| Plain.wrong(name, text) })
  end

  test "each help begins with what it is for, in a sentence" do
    assert_none([main, *commands.values, make].reject { |help| help.first.match?(/\A[A-Z][a-z]+,? .*\.\z/) }.map { |help| "#{help.name}: #{help.first}" })
  end

  test "each help has an example within its first #{EXAMPLE_WITHIN} lines" do
    starts = {"heapsample" => main, **commands.transform_keys { |name| "heapsample #{name}" }, "make" => make}
    assert_none(starts.reject { |start, help| help.example?(start) }.map { |_, help| help.name })
  end

  test "ruby --help has an example of --heap-sample", missing: NOT_BUILT do
    assert_match(/Example: --heap-sample=/, Texts.option.entries.first.text)
  end

  test "heapsample --help lists each command once, with the first line of its own help" do
    listed = main.entries.select { |entry| NAMES.include?(entry.name) }
    assert_equal NAMES.sort, listed.map(&:name).sort
    assert_none(listed.reject { |entry| commands[entry.name].first.casecmp?("#{entry.text}.") }.map { |entry| "#{entry.name}: #{entry.text}" })
  end

  # "`NAME` | SUMMARY" and the task of each command.
  DECLARED = HeapSample::Tool::Commands.all.to_h { |command| ["`#{command.command_name}` | #{command::SUMMARY}", command::TASK] }

  test "doc/heapsample.md has each command with its summary, and no other" do
    rows = Docs.read("doc/heapsample.md")[/^## All commands$.*?(?=^## )/m].lines.filter_map { |line| line[/\A\| (`[a-z]+` \| [^|]*[^| ]) \|/, 1] }
    assert_equal DECLARED.keys.sort, rows.sort
  end

  # Options of heapsample agent are in doc/agent.md.
  test "doc/heapsample.md has each option of each command, and no other" do
    section = Docs.read("doc/heapsample.md")[/^## Options$.*?(?=^## )/m].to_s
    rows = section.scan(/^\| .*? \|/).flat_map { |cell| cell.scan(/--[a-z][a-z-]*/) }
    declared = commands.except("agent").values.flat_map(&:entries).flat_map { |entry| entry.name.scan(/--[a-z][a-z-]*/) } - ["--help"]
    assert_equal declared.uniq.sort, rows.sort
  end

  test "each command belongs to a task of heapsample --help" do
    assert_none(DECLARED.reject { |_, task| HeapSample::Tool::Command::TASKS.include?(task) }.keys)
  end

  test "each option has a text" do
    assert_operator options.size, :>, 50
    assert_none(options.filter_map { |name, entry, _| "#{name}: #{entry.name}" if entry.text.empty? })
  end

  test "the name of each value is its kind or its unit" do
    assert_operator options.count { |_, _, value| value }, :>, 25
    assert_none(options.filter_map { |name, entry, value| "#{name}: #{entry.name}" unless value.nil? || VALUES.include?(value) })
  end

  test "each option with a value has a default, or is required" do
    assert_none(options.filter_map do |name, entry, value|
      "#{name}: #{entry.name}" unless value.nil? || [entry.text, entry.heading].any? { |text| text.match?(/\(default: .+\)|\(required\)/) }
    end)
  end

  test "ruby --help has each setting, and no other", missing: NOT_BUILT do
    assert_operator Docs.settings.size, :>=, 10
    shown = Texts.settings.entries.flat_map { |entry| entry.name.split(", ") }
    assert_equal Docs.settings.sort, shown.map { |name| name[/\A[a-z-]+/] }.sort
  end

  test "the man page and options.md lead there" do
    [Texts.man, Texts.options_md].each { |text| assert_includes text, "ruby --help" }
  end

  test "ruby --help has each setting's kind of value and default", missing: NOT_BUILT do
    assert_none(Texts.settings.entries.reject do |entry|
      value = entry.name[/=(.*)/, 1]
      entry.text.match?(/default/i) && (value.nil? || SETTING_VALUES.include?(value))
    end.map(&:name))
  end

  test "make help lists each target" do
    targets = Docs.read("Makefile")[/^\.PHONY: (.*)/, 1].split - %w[help linters]
    assert_none(targets.reject { |target| make.entries.any? { |entry| entry.name == "make #{target}" } })
  end

  test "make help has the default of each variable" do
    assert_none(make.entries.select { |entry| entry.heading == "Variables:" && !entry.text.include?("(default: ") }.map(&:name))
  end
end
