# frozen_string_literal: true

# Exits 0 if a statement holds for profiles, else says why not.
# Usage: ruby holds.rb readable FILE
#        ruby holds.rb same-estimates FILE OTHER     sampled: are the largest lines the same?
#        ruby holds.rb same-counts FILE OTHER        interval=1: is every line?

TOP_LINES = 40

def load(file) = GC::SampleProfile.load(file)

# With two independent samples of the same program the difference of a line's estimates is a normal
# one. Beyond 6 deviations: 2e-9 a line, so once in two million runs for the 80 lines at most of three programs.
DEVIATIONS = 6

def same_estimates(one, other)
  # Not malloc's memory, much of which is YJIT's or what a YJIT does without. Not what is in use: that depends on when the last mark was, which two runs do not share.
  groups = [one, other].map { |profile| profile.groups(:line, kind: :slots).to_h { |group| [group.key, group.alloc] } }
  largest = [one, other].flat_map { |profile| profile.groups(:line, kind: :slots).largest(:alloc, TOP_LINES).map(&:key) }.uniq
  # How much is evicted depends on when the marks were, too.
  largest.reject { |key| key.to_s == "(evicted)" }.each do |key|
    a, b = groups.map { |estimates| estimates[key] || HeapSample::Estimate.new }
    # A line that one side did not see at all could still have had a few samples.
    deviation = Math.sqrt(a.variance + b.variance + one.meta["settings"]["interval"]**2)
    next if (a.space - b.space).abs <= DEVIATIONS * deviation

    abort "#{key}: #{a.inspect}, #{b.inspect}"
  end
  puts "# #{largest.size} lines agree"
end

# Of every line and class the number of objects allocated. imemos are left out: call caches and
# method entries depend on who calls first, and YJIT fills other ones.
def counts(profile)
  counts = Hash.new(0)
  profile.rows.each do |row|
    next if row.malloc? || row.type == "T_IMEMO"

    abort "a weight at interval 1: #{row.inspect}" unless row.alloc.variance.zero?
    site = profile.stacks.site(row.columns[HeapSample::Columns::STACK])
    frame = site && profile.stacks.frame(site)
    counts[[frame&.full_path, frame&.lineno, frame&.qualified_label, row.class_name]] += row.alloc.objects.round
  end
  counts
end

# YJIT itself allocates more in places ("#{1}" makes a String that the interpreter has ready) and less
# in others (splats), and a program does not do the same twice: whether it finds a symbol or a
# deduplicated string or makes it anew depends on when GC last ran. Two runs without YJIT differ in 2 of
# 7,600 rows on a quiet machine, one with it and one without in 3 or 4 there and 8 on a busy one. A line
# that is told wrong would not be one row but all that is allocated after a call: 1 in 400 rows,
# 1 in 200 objects.
def same_counts(one, other)
  one, other = counts(one), counts(other)
  keys = one.keys | other.keys
  different = keys.reject { |key| one[key] == other[key] }
  objects = different.sum { |key| (one[key] - other[key]).abs }
  puts "# #{keys.size} rows, #{one.values.sum} objects; #{different.size} rows differ, by #{objects} objects"
  return if different.size * 400 <= keys.size && objects * 200 <= one.values.sum

  different.first(20).each { |key| puts "# #{one[key]} #{other[key]} #{key.inspect}" }
  abort "too many rows differ"
end

# A sample without a stack is one that the sampler says it had to drop the stack of.
def readable(profile)
  abort "empty" if profile.rows.empty? || profile.report.to_s.empty?
  without = profile.rows.select { |row| row.stack.empty? || row.stack.first.label == "(no stack)" }
  samples = without.sum { |row| row.alloc.samples }
  dropped = profile.meta["drops"]["stacks"]
  abort "#{samples} samples without a stack, #{dropped} stacks dropped" if samples > dropped
end

statement, *files = ARGV
profiles = files.map { |file| load(file) }
case statement
when "readable" then profiles.each { |profile| readable(profile) }
when "same-estimates" then same_estimates(*profiles)
when "same-counts" then same_counts(*profiles)
else abort "no such statement: #{statement}"
end
