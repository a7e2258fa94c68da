# Much malloc, few slots: N rounds of strings that grow, are copied and joined, arrays and hashes that outgrow their
# slots; of each round one thing in eight is kept for a while.
# Usage: ruby mallocs.rb N
# Collections come at fixed places (see mixed.rb). Ends without exit handlers. Prints the number of GCs and of samples.

WORDS = Array.new(64) { |i| "word number #{i} of a vocabulary" }
PAGE = "x" * 3000

def render(i)
  page = +""
  60.times { |k| page << WORDS[(i + k) & 63] << ", " }
  page
end

def table(i)
  rows = []
  120.times { |k| rows << k * i }
  rows
end

def index(i)
  by_name = {}
  WORDS.each { |word| by_name[word] = i }
  by_name
end

def mallocs(n)
  keep = Array.new(512)
  i = 0
  while i < n
    page = render(i)
    rows = table(i)
    names = index(i)
    copy = PAGE + page
    list = rows.pack("Q*")
    big = "y" * (i & 7 == 0 ? 40_000 : 4_000)
    keep[i & 511] = [page, rows, names, copy, list, big][i % 6] if i & 7 == 0
    i += 1
    if i % 500 == 0
      GC.enable
      GC.start(full_mark: false, immediate_sweep: true)
      GC.disable
    end
  end
end

GC.start
GC.disable
mallocs(Integer(ARGV[0]))
stat = defined?(GC::SampleProfile) ? GC::SampleProfile.stat : {}
print GC.count, " ", stat[:malloc_samples_taken].to_i
$stdout.flush
exit!(0)
