# frozen_string_literal: true

# fork inside a Ractor: in the child that Ractor is the main one. The child does little: one that goes on to need a GC
# raises NoMemoryError on the unpatched 3.4.5 as well, now and then.
class ForksFromRactors < Act
  # There, too, the child of a Ractor hangs for good if any other thread ran Ruby code at the fork, and with YJIT.
  def self.beside?(_other) = false
  def self.with_yjit? = false

  def step
    ractor = Ractor.new(@random.rand(1 << 30)) do |seed|
      pid = fork { exit!(Array.new(7) { |i| [seed, i.to_s] }.size) }
      Ractors.work(seed, __FILE__)
      Process.wait2(pid)[1].exitstatus
    end
    same(7, ractor.take, "a child's status")
  end
end
