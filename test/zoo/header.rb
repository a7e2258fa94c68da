# frozen_string_literal: true

# The heading of a program of the zoo: the comment at its top. It says the truth about the program in words, and then
# for the judge, one "# key: value" a line:
#
#   # kind: leak                        what it is: one of KINDS
#   # also: native                      kinds that are as right, where the truth is honestly both
#   # line: tilt/template.rb            lines of gems that make the leaking memory; with those marked "# LEAK"
#   # keeper: fanout.rb, @subscribers   lines and names of what keeps it; with those marked "# KEEPER", and the constants and
#                                       variables (not local ones) in these lines
#   # gems: json 2.7.1, rack 3.1.12     gems and their versions
#   # mended: json 2.7.2                the version that does not leak: run too, as NAME_mended, and is steady
#   # seconds: 41                       how long it runs
#   # settles: 24                       until then, in seconds, nobody can tell it from a leak (a cache that fills)
#   # holdout: yes                      the diagnosis must not be tuned on it
class Header
  KINDS = %w[leak threads native fragmentation bloat steady].freeze
  GROWING = %w[leak threads native].freeze
  KEYS = %w[kind also line keeper gems mended seconds settles holdout].freeze
  SECONDS = 41 # twenty profiles at every=2, and the last one

  def self.read(path) = new(path, File.read(path))

  attr_reader :path

  def initialize(path, text)
    @path = path
    @text = text
    @values = text.lines.take_while { |line| line.start_with?("#") }.filter_map { |line| line.match(/\A# (\w+): (.+)$/)&.captures }
                  .select { |key, _| KEYS.include?(key) }.to_h
    raise ArgumentError, "#{path}: its heading has no kind: of #{KINDS.join(", ")}" unless KINDS.include?(kind)
  end

  def name = File.basename(path, ".rb")
  def kind = @values["kind"]
  def kinds = [kind, *list("also")]
  def seconds = Float(@values["seconds"] || SECONDS)
  def settles = Float(@values["settles"] || 0)
  def holdout? = @values.key?("holdout")
  def mended? = @values.key?("mended")

  # Name => version of each gem.
  def gems(mended: false) = versions("gems").merge(mended ? versions("mended") : {})

  # Patterns of the lines that make the memory, and of what keeps it.
  def lines = list("line") + marked("LEAK")
  def keepers = list("keeper") + marked("KEEPER") + names_in("KEEPER")

  private

  def list(key) = @values[key].to_s.split(",").map(&:strip)
  def versions(key) = list(key).to_h { |gem| gem.split }

  def marked(word)
    @text.lines.each_with_index.filter_map { |line, index| "#{name}.rb:#{index + 1}" if marks?(line, word) }
  end

  def names_in(word)
    @text.lines.select { |line| marks?(line, word) }.flat_map { |line| line[/\A.*#/].scan(/(?:@@?|\$)\w+|\b[A-Z][A-Z0-9_]{2,}\b/) }.uniq
  end

  def marks?(line, word) = line.match?(/# (\w+ )?#{word}\b/)
end
