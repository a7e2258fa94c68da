# frozen_string_literal: true

# Ractors that allocate at the same time, exchange messages and raise.
#
# Together with any act that releases the GVL this may hang, sampler or not: in 3.4.5 a thread that comes back for the GVL
# waits for a GC's barrier with its scheduler locked, and a Ractor that ends waits for that lock.
class Ractors < Act
  @played = false

  class << self
    attr_accessor :played
    alias played? played
  end

  def initialize(...)
    super
    Ractors.played = true
  end

  def step
    seeds = Array.new(@random.rand(1..3)) { @random.rand(1 << 30) }
    ractors = seeds.map { |seed| Ractor.new(seed, __FILE__) { |number, path| Ractors.work(number, path) } }
    same(seeds.map { |seed| Ractors.work(seed, __FILE__) }, ractors.map(&:take), 'what the Ractors computed')
    messages
    failing
  end

  def self.work(seed, path)
    random = Random.new(seed)
    witness = nil
    sum = 0
    300.times do |i|
      strings = Array.new(random.rand(20)) { |n| "#{seed} #{n}" }
      witness = Witness.new(path, __LINE__) if i % 100 == 0
      sum += strings.sum(&:size)
    end
    sum + (witness.line ? 1 : 0)
  end

  private

  def messages
    echo = Ractor.new { loop { (message = Ractor.receive) ? Ractor.yield(message.map(&:to_s)) : break } }
    list = Array.new(@random.rand(1..50)) { @random.rand(1000) }
    3.times do
      echo.send(list, move: false)
      same(list.map(&:to_s), echo.take, 'an echo')
    end
    echo.send(nil)
    echo.take
  end

  def failing
    ractor = Ractor.new do
      Thread.current.report_on_exception = false
      raise ArgumentError, Array.new(100) { |i| i.to_s }.last
    end
    same('99', rescued(Ractor::RemoteError) { ractor.take }.cause.message, "a Ractor's exception")
  end
end
