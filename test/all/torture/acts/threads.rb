# frozen_string_literal: true

# Threads that build, share and drop structures; some are killed, some are raised into, wherever they are.
class Threads < Act
  Interruption = Class.new(StandardError)

  def step
    seeds = Array.new(@random.rand(2..6)) { @random.rand(1 << 30) }
    threads = seeds.map { |seed| Thread.new { work(seed) } }
    same(seeds.map { |seed| work(seed) }, threads.map(&:value), 'what the threads computed')
    interrupt(@random.rand(2).zero? ? :kill : :raise)
  end

  private

  def work(seed)
    random = Random.new(seed)
    witnesses = []
    hash = {}
    400.times do |i|
      hash[random.rand(100).to_s] = [i, i.to_s * random.rand(50), { i => i.to_f }]
      witnesses << Witness.new(__FILE__, __LINE__) if i % 40 == 0
    end
    @kept = witnesses.sample(random: random)
    hash.sum { |key, (i, text, inner)| key.to_i + i + text.size + inner.size }
  end

  def interrupt(way)
    ended = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      loop { work(1) }
    ensure
      ended << :yes
    end
    sleep(@random.rand * 0.01)
    way == :kill ? thread.kill : thread.raise(Interruption)
    begin
      thread.join
    rescue Interruption
      nil
    end
    # One that was stopped before it came into its block has no ensure to run.
    same(true, ended.size <= 1, 'ensure runs once')
  end
end
