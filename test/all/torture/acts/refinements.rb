# frozen_string_literal: true

# Refinements, made and used in code that is evaluated and dropped.
class Refinements < Act
  # With fibers as well, the unpatched 3.4.5 crashes with "[BUG] try to mark T_NONE object" or of SIGSEGV in GC.
  def self.beside?(other) = other != Compaction

  def step
    n = @random.rand(1_000)
    refinement = Module.new do
      refine(String) { define_method(:refined) { [self, n].join * 2 } }
      refine(Integer) { def to_s(...) = "<#{super}>" }
    end
    Thread.current[:refinement] = refinement
    got = RubyVM::InstructionSequence.compile(<<~RUBY).eval
      using Thread.current[:refinement]
      ["x".refined, 5.to_s, [1, 2].map { |i| i.to_s }]
    RUBY
    same(["x#{n}x#{n}", '<5>', %w[<1> <2>]], got, 'what was refined')
    rescued(NoMethodError) { 'x'.refined }
    @kept = Witness.new(__FILE__, __LINE__)
  end
end
