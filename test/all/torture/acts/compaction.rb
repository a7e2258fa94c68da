# frozen_string_literal: true

# Objects move, by hand and by themselves, and every reference is verified.
class Compaction < Act
  def step
    kept = Array.new(@random.rand(100..2_000)) { |i| [i.to_s, { i => Witness.new(__FILE__, __LINE__) }, i.to_s * 100] }
    kept.delete_if { @random.rand(2).zero? }
    before = kept.map { |text, _, long| [text, long.size] }
    case @random.rand(4)
    when 0 then GC.verify_compaction_references(toward: :empty, expand_heap: false)
    when 1 then GC.verify_compaction_references
    when 2 then GC.compact
    else automatic
    end
    same(before, kept.map { |text, _, long| [text, long.size] }, 'what was moved')
    kept.each { |text, hash,| same(text.to_i, hash.keys[0], 'a key of what was moved') }
    @kept = kept.first(50)
    sleep(@random.rand * 0.05)
  end

  # Automatic compaction is still on when the acts have ended.
  def finish = GC.auto_compact = false

  private

  def automatic
    GC.auto_compact = true
    2.times { GC.start }
  ensure
    GC.auto_compact = @random.rand(4).zero?
  end
end
