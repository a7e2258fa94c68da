# frozen_string_literal: true

# ObjectSpace::WeakMap and WeakKeyMap, which GC empties and compaction moves things in.
class WeakMaps < Act
  def initialize(...)
    super
    @map = ObjectSpace::WeakMap.new
    @keys = ObjectSpace::WeakKeyMap.new
    @held = {}
    @number = 0
  end

  def step
    @random.rand(20..200).times do
      key = -"key #{@number += 1}"
      value = Witness.new(__FILE__, __LINE__)
      @map[key] = value
      @keys[key] = value
      @held[key] = value if @random.rand(4).zero?
    end
    @held.each do |key, value|
      same(true, @map[key].equal?(value), 'the value of a key that is held')
      same(true, @keys.getkey(key.dup).equal?(key), 'a weak key that is held')
    end
    @map.each { |key, value| same([String, Witness], [key.class, value.class], 'a pair of a weak map') }
    forget(@held.keys.first) if @random.rand(4).zero? && !@held.empty?
    @held.clear if @held.size > 500 || @random.rand(4).zero?
  end

  private

  def forget(key)
    value = @held.delete(key)
    same(true, @map.delete(key).equal?(value), 'what was deleted')
    same(false, @map.key?(key), 'the key that was deleted')
  end
end
