# frozen_string_literal: true

# Are the help texts plain and complete? The texts of heapsample and its commands, of ruby --help, of its man page and
# options.md, and of make. As TAP.
# Usage: ruby -I src/lib help.rb TOP

require "heapsample/tool"
require "open3"
require "stringio"
require_relative "../../tap"
require_relative "plain"

TOP = ARGV.fetch(0)
EXAMPLE_WITHIN = 6      # lines from the top
# The name of a value says what it is; the name of a number is its unit.
VALUES = %w[ADDRESS CHARACTERS FILE FOLDER FORMAT GCS KIND LINES NAME NAME=VALUE NODES OUTPUT PATH PATH|NAME PERCENT PROFILES ROWS SECONDS SHARE TEXT VALUE WHEN].freeze
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

  def wrong_words = wrong(name, [prose.join("\n"), *entries.map(&:text)].join("\n\n"))

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

# What heapsample prints for these arguments.
def heapsample(*arguments)
  stdout, $stdout = $stdout, StringIO.new
  HeapSample::Tool::CLI.new(arguments).run
  $stdout.string
ensure
  $stdout = stdout
end

# What is wrong, if anything.
def none(name, wrong) = Tap.report(wrong.empty?, name, wrong.first(40))

def ruby(*arguments) = Open3.capture2e({"RUBY_HEAP_SAMPLE" => nil, "RUBYOPT" => nil}, RbConfig.ruby, *arguments).first

# The lines that a patch adds to a file.
def added(patch, file)
  File.read("#{TOP}/patches/3.4/#{patch}")[/^\+\+\+ b\/#{Regexp.escape(file)}\n(.*?)(?=^--- a\/|\z)/m, 1].to_s.scan(/^\+(.*\n)/).join
end

# A page of mdoc as text: names count as a word each.
def mdoc(text)
  text.gsub(/^\.(?:It|Pp|Bl|El|Dl|Op)\b.*/, "\n").gsub(/^\.(?:Ar|Cm|Ev|Pa) \S+/, "CODE")
end

names = HeapSample::Tool::Commands::NAMES
main = Help.new("heapsample --help", heapsample("--help"), 17)
commands = names.to_h { |name| [name, Help.new("heapsample #{name} --help", heapsample(name, "--help"), 28)] }
make = Help.new("make help", Open3.capture2e("make", "-s", "-C", TOP, "help").first, 23)
all_of_ruby = ruby("--help")
option = Help.new("ruby --help", all_of_ruby[/^  --heap-sample.*\n(?: {18}.*\n)+/].to_s, 18)
settings = Help.new("ruby --help", all_of_ruby[/^Heap sample settings.*\n(?:  .*\n)+/].to_s, 18)
pages = {"man ruby" => mdoc(added("ruby-option.patch", "man/ruby.1")), "options.md" => added("ruby-option.patch", "doc/ruby/options.md")}

texts = [main, *commands.values, make, option, settings]
none("help has plain words, and sentences of at most #{LONGEST} words", texts.flat_map(&:wrong_words))
none("so do the man page and options.md", pages.flat_map { |name, text| wrong(name, text) })

none("each help begins with what it is for, in a sentence", [main, *commands.values, make].filter_map do |help|
  "#{help.name}: #{help.lines.first}" unless help.lines.first.match?(/\A[A-Z][a-z]+,? .*\.\z/)
end)
none("and has an example within its first #{EXAMPLE_WITHIN} lines", {"heapsample" => main, **commands.transform_keys { |name| "heapsample #{name}" }, "make" => make}.filter_map do |start, help|
  help.name unless help.lines.first(EXAMPLE_WITHIN).any? { |line| line.match?(/^ {4}#{start} /) }
end + (option.entries.first&.text&.match?(/Example: --heap-sample=/) ? [] : ["ruby --help: --heap-sample"]))

listed = main.entries.select { |entry| names.include?(entry.name) }
none("heapsample --help lists each command once, with the first line of its own help",
     names.reject { |name| listed.map(&:name).count(name) == 1 } +
     listed.reject { |entry| commands[entry.name].lines.first.casecmp?("#{entry.text}.") }.map { |entry| "#{entry.name}: #{entry.text}" })

rows = File.read("#{TOP}/doc/heapsample.md")[/^## All commands$.*?(?=^## )/m].lines.filter_map { |line| line[/\A\| (`[a-z]+` \| [^|]*[^| ]) \|/, 1] }
declared = HeapSample::Tool::Commands.all.to_h { |command| ["`#{command.command_name}` | #{command::SUMMARY}", command::TASK] }
none("doc/heapsample.md has each command with its summary, and no other", (declared.keys | rows) - (declared.keys & rows))
none("each command belongs to a task of heapsample --help", declared.reject { |_, task| HeapSample::Tool::Command::TASKS.include?(task) }.keys)

valued = commands.values.flat_map { |help| help.entries.filter_map { |entry| [help.name, entry, entry.name[/--[a-z-]+ (\S+)\z/, 1]] if entry.name.include?("--") } }
none("each option has a text", valued.filter_map { |name, entry, _| "#{name}: #{entry.name}" if entry.text.empty? })
none("the name of each value is its kind or its unit", valued.filter_map { |name, entry, value| "#{name}: #{entry.name}" unless value.nil? || VALUES.include?(value) })
none("each option with a value has a default, or is required", valued.filter_map do |name, entry, value|
  "#{name}: #{entry.name}" unless value.nil? || [entry.text, entry.heading].any? { |text| text.match?(/\(default: .+\)|\(required\)/) }
end)
check("options were found", valued.size > 100 && valued.count { |_, _, value| value } > 50, valued.size)

# Ruby's own list of settings, out of its error.
known = ruby("--heap-sample=nonsense", "-e", "0")[/settings: (.*) \(/, 1].to_s.split(", ")
shown = settings.entries.flat_map { |entry| entry.name.split(", ") }.map { |name| name[/\A[a-z-]+/] }
none("ruby --help has each setting, and no other", [known.size < 10 ? "no settings" : nil].compact + (shown - known | known - shown))
none("the man page and options.md lead there", {
  "man ruby" => added("ruby-option.patch", "man/ruby.1"), "options.md" => pages["options.md"]
}.filter_map { |page, text| page unless text.include?("ruby --help") })
none("ruby --help has each setting's kind of value and default", settings.entries.filter_map do |entry|
  value = entry.name[/=(.*)/, 1]
  "ruby --help: #{entry.name}" unless entry.text.match?(/default/i) && (value.nil? || SETTING_VALUES.include?(value))
end)

targets = File.read("#{TOP}/Makefile")[/^\.PHONY: (.*)/, 1].split - ["help"]
none("make help lists each target", targets.reject { |target| make.entries.any? { |entry| entry.name == "make #{target}" } })
none("make help has the default of each variable", make.entries.select { |entry| entry.heading == "Variables:" && !entry.text.include?("(default: ") }.map(&:name))
Tap.finish
