# A resolver remembers the names that do not exist, so that it does not ask again. A crawler asks for names that somebody makes up,
# and the entries have a time until which they are valid, which nothing looks at. 12 KB a second.
#
# kind: leak
# rate: 11000
require_relative "../load"

class Resolver
  def initialize = (@known, @missing = {}, {})

  def resolve(name)
    return nil if @missing.key?(name)
    return @missing[name] = Load.seconds + 300 && nil unless name.end_with?(".example.org") # LEAK KEEPER

    @known[name] ||= "192.0.2.#{name.size}"
  end
end

RESOLVER = Resolver.new
Load.run(300) do |n|
  RESOLVER.resolve(n % 3 == 0 ? "#{(n * 48_271).to_s(36)}.#{n % 50}.a-name-that-was-made-up.example" : "host-#{n % 400}.example.org") # LEAK
  Array.new(20) { |i| "line #{i}" }.join
end
