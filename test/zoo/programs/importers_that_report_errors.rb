# A search for similar pictures has 65,000 vectors in memory. Each import of pictures subscribes itself to the error reporter of
# Active Support, in order to count its own errors, and does not unsubscribe at the end; it still has the rows of its pictures.
#
# kind: leak
# line: active_support/error_reporter
# keeper: @subscribers, error_reporter
# gems: activesupport 8.0.2
# starts: 4
# rate: 1380000
require_relative "../load"
require "active_support"
require "active_support/error_reporter"

WIDTH = 768
NOISE = Random.new(3)
VECTORS = Array.new(65_000) { NOISE.bytes(WIDTH * 2).unpack("s*") }
NAMES = Array.new(VECTORS.size) { |i| "picture-#{i}.jpg" }

class Import
  def initialize(number)
    @number = number
    @errors = 0
    @rows = []
  end

  def report(error, **) = error.message.end_with?(" of #{@number}") && @errors += 1

  def run
    ActiveSupport.error_reporter.subscribe(self) # KEEPER
    420.times do |i|
      ActiveSupport.error_reporter.handle(ArgumentError) do
        raise ArgumentError, "no colours in picture #{i} of #{@number}" if i == 77

        @rows << { file: NAMES[(@number * 420 + i) % NAMES.size], colours: (VECTORS[i][0, 14]).map { |value| value & 255 } } # LEAK
      end
    end
    "import #{@number}: #{@rows.size} pictures, #{@errors} errors"
  end
end

def similar(number)
  wanted = VECTORS[number % VECTORS.size].first(64)
  VECTORS[number * 41 % 64_900, 60].each_with_index.map { |vector, i| [vector.first(64).zip(wanted).sum { |a, b| (a - b).abs }, NAMES[i]] }.min(10).map(&:last).join(",")
end

Load.run(40) do |n|
  Import.new(n).run if n % 4 == 0 # LEAK
  4.times { |i| similar((n * 4) + i) }
end
