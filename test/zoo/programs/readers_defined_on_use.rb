# Healthy: a mapper writes the code that reads a kind of record when that kind first comes, with class_eval. New
# partners bring new kinds for 23 seconds, until there are 900.
#
# kind: steady
# also: bloat
# settles: 26
require_relative "../load"

class Mapper
  def initialize = @kinds = {}

  def read(kind, text)
    @kinds[kind] ||= define(kind)
    public_send(:"read_#{kind}", text)
  end

  private

  def define(kind)
    fields = Array.new(30) { |i| "#{kind % 7}_#{i}" }
    self.class.class_eval(<<~RUBY, "kind_#{kind}.rb", 1)
      def read_#{kind}(text)
        values = text.split(",")
        { #{fields.each_with_index.map { |field, i| "field_#{field}: values[#{i}].to_s.strip" }.join(", ")} }
      end
    RUBY
  end
end

MAPPER = Mapper.new
RANDOM = Random.new(2)
def kind = RANDOM.rand([1 + (40 * Load.seconds), 900].min.to_i)
TEXT = Array.new(30) { |i| "value #{i}" }.join(", ").freeze
Load.run(500) { |_| MAPPER.read(kind, TEXT).size }
