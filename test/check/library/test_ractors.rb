# frozen_string_literal: true

# A Ractor other than the main one reads no constant that it could change.

require "open3"
require "rbconfig"
require_relative "../../testing"

class RactorsTest < Test
  SHARED_CONSTANTS = <<~'RUBY'
    class Module
      def private_constant(*) = nil # so that #constants has all
    end
    def constants_of(mod, seen)
      return [] unless seen.add?(mod)

      mod.constants(false).sort.flat_map do |name|
        value = mod.const_get(name)
        next constants_of(value, seen) if value.is_a?(Module) && value.name.to_s.start_with?("HeapSample")

        [["#{mod}::#{name}", Ractor.shareable?(value)]]
      end
    end
    require "heapsample"
    require "set"
    all = constants_of(HeapSample, Set.new)
    puts all.size, all.reject(&:last).map(&:first)
  RUBY

  test "each constant of the library can be shared by Ractors" do
    out, err, status = Open3.capture3(RbConfig.ruby, "-W0", "--disable=gems", "-I", "src/lib", "-e", SHARED_CONSTANTS)
    assert(status.success?, err)
    count, *bad = out.lines(chomp: true)
    assert(count.to_i > 300, count)
    assert_equal([], bad)
  end
end
