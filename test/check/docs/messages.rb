# frozen_string_literal: true

# Every error and warning of C code, library and command, and every other text that the Ruby code prints, read from the
# sources. messages.txt has the errors and warnings, texts.txt the others.
# Usage: ruby test/check/docs/messages.rb --write     writes messages.txt and texts.txt

require "prism"

module MessageWords
  module_function

  # Has it two words, with a blank between, one of them written out?
  def words?(text) = text.gsub(/#\{.*?\}|…/, "X").match?(/(?:[[:alpha:]]{2}|X:?) .*[[:alpha:]]{2}|[[:alpha:]]{2}.* (?:[[:alpha:]]{2}|X)/)
end

# Of C: all that functions which report get, and every other text that looks like a sentence.
module MessagesOfC
  TOKENS = %r{/\*.*?\*/|//[^\n]*|^\#include[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+'|\w+|->|[^\s\\]}m.freeze
  REPORTING = %w[rb_raise rb_exc_new_cstr rb_warn rb_warning rb_hs_warn rb_hs_warn_once rb_hs_warn_of_settings rb_hs_answer_error
                 fail fail_value refuse publish REFUSAL].freeze
  # These get texts that are no messages: assertions, names of references, help, HTML.
  OTHER = %w[HS_ASSERT HS_CONTRACT _Static_assert visit visit_values visit_table visit_table_values HS_FIELD TOP M strcmp printf rb_hs_buffer_puts rb_hs_buffer_printf].freeze
  NO_MESSAGES = /\A(?:an object in C|labels of GC::SampleProfile,|(?:[\w-]+, ){5})/.freeze
  HELP = %r{/usage\.[ch]\z}.freeze
  # What such a variable gets is a message.
  VARIABLE = /\A(?:why|what|wrong|error|unknown|trouble)\z/.freeze
  FORMATS = {"PRIsVALUE" => "s", "PRIu64" => "u", "PRIuSIZE" => "u"}.freeze

  module_function

  def of(text)
    found, calls, run, before = [], [], +"", []
    text.scan(TOKENS) do |token|
      next if token.start_with?("/*", "//", "#include")
      next run << token[1..-2] if token.start_with?('"')
      next run << FORMATS[token] if FORMATS[token] && !run.empty?

      found << run.gsub("\\n", "").gsub(/\\(.)/, "\\1") if message?(run, calls, before)
      run = +""
      token == "(" ? calls << before.last : token == ")" && calls.pop
      before = [*before.last(3), token]
    end
    found.uniq
  end

  def message?(text, calls, before)
    return false if !MessageWords.words?(text) || calls.intersect?(OTHER) || text.match?(NO_MESSAGES)

    calls.intersect?(REPORTING) || sentence?(text, given?(before) ? 2 : 4)
  end

  # Is it returned, or does a variable for messages get it?
  def given?(before) = before.last == "return" || before.any? { |token| token.match?(VARIABLE) }

  def sentence?(text, words) = text.match?(/\A[a-z\/%:]/) && text.scan(/(?<=\A|[ (])[a-z][a-z']*(?=[ ,;:.)]|\z)/).size >= words
end

# Of Ruby: the literals in calls that report, in what these calls name of the same file, and in methods that make messages.
class MessagesOfRuby < Prism::Visitor
  REPORTING = %i[raise warn abort fail refuse misused complain number answer expect].freeze
  OF_RECEIVERS = /\A(?:Message\.print|(?:Failure|NotFound)\.new|(?:series\.|@)?(?:warnings|refused)\.(?:<<|concat))\z/.freeze
  MAKING = %i[message failure_message failure_message_when_negated failure no_walk refused short about none_written warnings].freeze
  # What these have, messages only list.
  LISTS = %i[NAMES DIRECTIONS USAGE INDEX].freeze
  LONGEST_CODE = 24

  # +whole+: all literals of the file are messages.
  def self.of(text, whole:)
    program = Prism.parse(text).value
    visitor = new(program)
    whole ? visitor.collect(program) : program.accept(visitor)
    visitor.found.uniq
  end

  # Of an interpolated string: the parts with code.
  def self.embedded(node) = node.parts.flat_map { |part| part.is_a?(Prism::InterpolatedStringNode) ? embedded(part) : [*(part unless part.is_a?(Prism::StringNode))] }

  # The text of a literal, with its code as it stands, or "…" where that is long.
  def self.written(node)
    case node
    when Prism::StringNode then node.unescaped
    when Prism::InterpolatedStringNode then node.parts.map { |part| written(part) }.join
    else node.slice.size > LONGEST_CODE ? "…" : node.slice
    end
  end

  attr_reader :found

  def initialize(program)
    @found = []
    @named = {}
    note(program)
    super()
  end

  def visit_call_node(node)
    reporting = node.receiver ? "#{node.receiver.slice}.#{node.name}".match?(OF_RECEIVERS) : REPORTING.include?(node.name)
    reporting && node.arguments ? collect(node.arguments) : super
  end

  def visit_def_node(node) = MAKING.include?(node.name) ? collect(node.body) : super

  def collect(node)
    case node
    when Prism::StringNode, Prism::InterpolatedStringNode then take(node)
    when Prism::CallNode, Prism::ConstantReadNode then follow(node) if node.is_a?(Prism::ConstantReadNode) || node.receiver.nil?
    end
    parts = node.is_a?(Prism::InterpolatedStringNode) ? self.class.embedded(node) : node.compact_child_nodes
    parts.each { |child| collect(child) }
  end

  private

  # Methods and constants of the file, by their names.
  def note(node)
    @named[node.name] = node.body if node.is_a?(Prism::DefNode)
    @named[node.name] = node.value if node.is_a?(Prism::ConstantWriteNode) && !LISTS.include?(node.name)
    node.compact_child_nodes.each { |child| note(child) }
  end

  def take(node)
    text = self.class.written(node)
    @found << text.gsub("\n", "\\n") if text.valid_encoding? && MessageWords.words?(text)
  end

  def follow(node)
    named = @named.delete(node.name)
    collect(named) if named
  end
end

# Of Ruby: every literal with words, whatever gets it.
class TextsOfRuby < Prism::Visitor
  # These get names of files, patterns and fields, not texts.
  OTHER = %i[require require_relative autoload unpack unpack1 pack strftime match? scan delete tr].freeze

  def self.of(text)
    visitor = new
    Prism.parse(text).value.accept(visitor)
    visitor.found.uniq
  end

  attr_reader :found

  def initialize
    @found = []
    super
  end

  def visit_call_node(node) = OTHER.include?(node.name) ? node.receiver&.accept(self) : super
  def visit_string_node(node) = take(node)

  def visit_interpolated_string_node(node)
    take(node)
    MessagesOfRuby.embedded(node).each { |part| part.accept(self) }
  end

  private

  def take(node)
    text = MessagesOfRuby.written(node)
    @found << text.gsub("\n", "\\n") if text.valid_encoding? && MessageWords.words?(text)
  end
end

# The messages of all sources.
module Messages
  TOP = File.expand_path("../../..", __dir__)
  FILE = File.join(__dir__, "messages.txt")
  TEXTS = File.join(__dir__, "texts.txt")

  module_function

  # Path of a source => its messages.
  def all
    sources = Dir.glob(["src/{heap_sampler,gc}/**/*.{c,h,inc}", "patches/3.4/*.patch", "src/lib/**/*.rb", "src/libexec/*"], base: TOP).sort
    sources.grep_v(MessagesOfC::HELP).to_h do |path|
      text = File.read("#{TOP}/#{path}")
      text = text.scan(/^\+(?!\+)(.*)/).join("\n") if path.end_with?(".patch")
      [path, path.match?(/\.rb\z|exe/) ? MessagesOfRuby.of(text, whole: path.end_with?("file_kind.rb")) : MessagesOfC.of(text)]
    end
  end

  # Path of a Ruby source => its texts that are no messages.
  def texts(messages = all)
    messages.filter_map { |path, list| [path, TextsOfRuby.of(File.read("#{TOP}/#{path}")) - list] if path.match?(/\.rb\z|exe/) }.to_h
  end

  # As in messages.txt and texts.txt.
  def written(messages)
    messages.reject { |_, list| list.empty? }.map { |path, list| "#{path}\n#{list.map { |message| "    #{message.rstrip}\n" }.join}" }.join("\n")
  end
end

if $PROGRAM_NAME == __FILE__ && ARGV == ["--write"]
  messages = Messages.all
  File.write(Messages::FILE, Messages.written(messages))
  File.write(Messages::TEXTS, Messages.written(Messages.texts(messages)))
end
