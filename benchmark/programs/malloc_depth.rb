# Mallocs a block at a time, at a given stack depth, and drops it.
# Usage: ruby malloc_depth.rb DEPTH N      prints how many samples of malloc were taken
# Ruby methods only, seven of them in turn, as in depth.rb.

def blocks(n)
  i = 0
  while i < n
    String.new(capacity: 2047)
    i += 1
  end
end

LEVELS = 7
LEVELS.times do |level|
  eval <<~RUBY
    def level_#{level}(depth, n)
      depth == 0 ? blocks(n) : level_#{(level + 1) % LEVELS}(depth - 1, n)
    end
  RUBY
end

def taken = defined?(GC::SampleProfile) ? GC::SampleProfile.stat[:malloc_samples_taken].to_i : 0

depth, n = ARGV.map { |word| Integer(word) }
level_0(depth - 3, 1000) # main, the first level, blocks
before = taken
level_0(depth - 3, n)
print taken - before
$stdout.flush
exit!(0)
