# frozen_string_literal: true

# A child whose address space is limited is refused memory, and goes on.
class NoMemory < Act
  def call
    in_child do
      size = File.read("/proc/self/status")[/^VmSize:\s*(\d+)/, 1].to_i << 10
      Process.setrlimit(:AS, size + (256 << 20))
      refused = Array.new(3) do
        "x" * (512 << 20)
      rescue NoMemoryError
        :refused
      end
      puts refused.count(:refused), Array.new(20_000) { |n| "object #{n}" * 4 }.sum(&:size)
    end
  end
end
