# frozen_string_literal: true

# One fault of a careless extension, met as it is met in production: the object goes, or moves, and something else
# is where it was. Prints what became of each of a hundred objects, and, if the sampler is there, from which line
# what is there now came.
# Usage: ruby seeds.rb WAY HAPPENS [die]     WAY: see careless.c; HAPPENS: gc, minor, compact, reuse, compact-reuse
require "careless"

WAY, HAPPENS = ARGV.first(2).map(&:to_sym)
COUNT = 100

class Original; end
class Intruder; end

# Fresh threads have fresh machine stacks: no address is left on one by chance.
def apart(&) = Thread.new(&).value

def original = Original.new

WHERE =
  if WAY == :global
    apart { COUNT.times { |i| Careless.keep_global(i, original) } && (0...COUNT).to_a }
  else
    Array.new(COUNT) { Careless.holder(WAY) }
  end

GC.disable
4.times { GC.start } if WAY == :barrier         # the holders are old now
unless WAY == :global
  apart { WHERE.each { |holder| Careless.keep(holder, original) } && nil }
end
GC.enable

if WAY == :dying
  WHERE.clear
  apart { 3.times { GC.start } }
  WHERE.concat((0...Careless.freed).to_a)
end

happens, reuse = HAPPENS.to_s.split("-")
case happens
when "minor" then apart { GC.start(full_mark: false, immediate_sweep: true) }
when "compact" then apart { GC.verify_compaction_references(toward: :empty, expand_heap: true) && nil }
else apart { GC.start(full_mark: WAY != :barrier, immediate_sweep: true) }
end
# as many as there are free slots of this size, and some more
KEPT = Array.new(reuse || happens == "reuse" ? 300_000 : 0) { Intruder.new }; INTRUDERS_AT = __LINE__

now = WHERE.map { |where| Careless.what(WAY, where) }
puts now.tally.sort_by { |what, count| [-count, what.to_s] }.map { |what, count| "#{what} #{count}" }.join(", ")

if defined?(GC::SampleProfile) && GC::SampleProfile.running?
  lines = WHERE.zip(now).filter_map { |where, what| GC::SampleProfile.stack_of(Careless.get(WAY, where))[1].lineno if what == Intruder }
  warn("not its line: #{lines.uniq}") if lines.any? { |line| line != INTRUDERS_AT }
end
$stdout.flush
Careless.die(WAY, WHERE[now.index(:freed) || now.index(:moved) || 0]) if ARGV[2] == "die"
