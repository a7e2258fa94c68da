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
#   # seconds: 62                       how long it runs with a profile every 2 seconds
#   # settles: 24                       a healthy program: it has reached its level after 24 seconds. Before, it looks like a leak
#   # starts: 20                        a growing program: it leaks from 20 seconds on
#   # rate: 40000                       a growing program: bytes that it leaks a second, in all its processes
#   # every: 10, 60                     it is recorded with a profile every 10 and every 60 seconds too, when this is asked for
#   # tuned: yes                        the rules of the diagnosis were tuned on it
#
# settles and starts may be shares of the time that the program runs: "# settles: 40%".
class Header
  KINDS = %w[leak threads native fragmentation bloat steady].freeze
  GROWING = %w[leak threads native].freeze
  KEYS = %w[kind also line keeper gems mended seconds settles starts rate every tuned].freeze
  PROFILES = 31 # of a program whose heading has no seconds
  EVERY = 2

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

  # How long it runs with a profile every so many seconds.
  def seconds(every = EVERY) = every == EVERY && @values.key?("seconds") ? Float(@values["seconds"]) : Float(PROFILES * every)

  # In seconds, of a run of so many seconds.
  def settles(seconds = self.seconds) = moment("settles", seconds)
  def starts(seconds = self.seconds) = moment("starts", seconds)

  # Bytes a second; nil where the heading does not have it.
  def rate = @values["rate"]&.then { |rate| Float(rate) }

  # The seconds between profiles at which it is recorded.
  def intervals = [EVERY, *list("every").map { |every| Integer(every) }]
  def tuned? = @values.key?("tuned")
  def mended? = @values.key?("mended")

  # Name => version of each gem.
  def gems(mended: false) = versions("gems").merge(mended ? versions("mended") : {})

  # Patterns of the lines that allocate the memory, and of what retains it.
  def lines = list("line") + marked("LEAK")
  def keepers = list("keeper") + marked("KEEPER") + names_in("KEEPER")

  private

  def moment(key, seconds)
    value = @values[key] || "0"
    value.end_with?("%") ? seconds * Float(value.chomp("%")) / 100 : Float(value)
  end

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
