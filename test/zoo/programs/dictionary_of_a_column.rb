# Large: a service has the last lines of a log in memory, by columns. A column has numbers in place of its texts, and
# a dictionary from the texts to the numbers. Old lines are dropped, but texts are not. Since a release each line has
# an id of its own in one of these columns.
#
# kind: leak
# keeper: @codes, @texts, LOG, Dictionary
# starts: 8
# rate: 1300000
require_relative "../load"

class Dictionary
  def initialize
    @codes = {}
    @texts = []
  end

  def [](code) = @texts[code]

  def code(text)
    @codes[text] ||= begin # LEAK KEEPER
      @texts << text # LEAK KEEPER
      @texts.size - 1
    end
  end
end

class Lines
  COLUMNS = %i[host level source request].freeze
  PART = 16_000
  Part = Struct.new(:columns, :messages)

  def initialize(parts)
    @dictionaries = COLUMNS.to_h { |name| [name, Dictionary.new] }
    @most = parts
    @parts = [empty]
  end

  def add(values, message)
    @parts << empty if @parts.last.messages.size >= PART
    @parts.shift if @parts.size > @most
    part = @parts.last
    COLUMNS.each { |name| part.columns[name] << @dictionaries[name].code(values[name]) } # LEAK
    part.messages << message
  end

  # The lines of one host among some lines of each part.
  def of_host(host, from)
    code = @dictionaries[:host].code(host)
    @parts.flat_map do |part|
      rows = from...[from + 60, part.messages.size].min
      rows.filter_map { |row| "#{@dictionaries[:level][part.columns[:level][row]]} #{part.messages[row]}" if part.columns[:host][row] == code }
    end
  end

  private

  def empty = Part.new(COLUMNS.to_h { |name| [name, []] }, [])
end

PARTS = 36
LOG = Lines.new(PARTS)
HOSTS = Array.new(60) { |i| "host-#{i}.example" }
LEVELS = %w[info info info warn error].freeze

def line(number, request)
  LOG.add({ host: HOSTS[number % 60], level: LEVELS[number % 5], source: "app/models/model_#{number % 300}.rb", request: request }, # LEAK
          "article #{number % 70_000} was shown to visitor #{number * 7_919 % 900_000}, from page #{number % 90} of the list; #{"its picture was in the cache; " * 16}#{number % 977} ms")
end

FILLED = (PARTS - 1) * Lines::PART
FILLED.times { |i| line(i, "no request") }

Load.run(400) do |n|
  10.times do |i|
    number = FILLED + (n * 10) + i
    line(number, "request-#{(number * 2_654_435_761 % 4_294_967_296).to_s(16).rjust(8, "0")}-#{number}-of-the-front-server-#{number % 12}") # LEAK
  end
  LOG.of_host(HOSTS[n % 60], n * 31 % 12_000).map(&:upcase).join("\n") if n % 4 == 0
end
