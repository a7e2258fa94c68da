# frozen_string_literal: true

# Exceptions, throw, break and retry through frames of C functions.
class Jumps < Act
  Jump = Class.new(StandardError)

  # C methods that call back, each given a block that leaves it for good.
  ROADS = {
    sort_by: ->(list, &leave) { list.sort_by { |x| leave.(x) } },
    sort: ->(list, &leave) { list.sort { |x, _| leave.(x) } },
    inject: ->(list, &leave) { list.inject { |sum, x| leave.(x) || sum } },
    gsub: ->(list, &leave) { list.join.gsub(/./) { |x| leave.(x) } },
    hash: ->(list, &leave) { list.to_h { |x| [x, leave.(x)] } },
    default: ->(list, &leave) { Hash.new { |_, key| leave.(key) }[list] },
    times: ->(list, &leave) { list.size.times { |x| leave.(x) } },
    bsearch: ->(list, &leave) { list.bsearch { |x| leave.(x) } },
    each_slice: ->(list, &leave) { list.each_slice(2) { |x| leave.(x) } },
    new: ->(list, &leave) { Array.new(list.size) { |x| leave.(x) } },
    send: ->(list, &leave) { list.public_send(:each_entry) { |x| leave.(x) } },
    marshal: ->(list, &leave) { Marshal.load(Marshal.dump(list), ->(x) { leave.(x) }) },
    coerce: ->(_, &leave) { 1 + Object.new.tap { |o| o.define_singleton_method(:coerce) { |x| leave.(x) } } },
  }.freeze

  def step
    list = Array.new(20) { |i| (i * 7 % 20).to_s }
    ROADS.each do |name, road|
      calls = 0
      at = @random.rand(1..2)
      witness = Witness.new(__FILE__, __LINE__)
      result = catch(:out) do
        road.call(list) { |x| (calls += 1) >= at ? leave(name, witness) : x.to_s }
        :stayed
      rescue Jump => e
        [e.message.to_sym, e.backtrace.empty?]
      rescue TypeError, NoMethodError, ArgumentError
        :stayed             # a block that did not leave gave what the method cannot use
      end
      same(true, [:stayed, [name, false], witness].include?(result), "the way out of #{name}: #{short(result)}")
    end
    same([1, 2, 3], retried, 'retry')
  end

  private

  def leave(name, witness)
    throw(:out, witness) if @random.rand(2).zero?
    raise Jump, name.to_s
  end

  def retried
    tries = []
    begin
      tries << tries.size + 1
      [3, 1, 2].sort { |a, b| tries.size < 3 ? raise(Jump) : a <=> b }
    rescue Jump
      retry
    end
    tries
  end
end
