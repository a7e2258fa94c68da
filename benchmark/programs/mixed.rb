# Allocates N times one each of strings (embedded, long), an array, a hash, an object and a float.
# Usage: ruby mixed.rb N [gc]
# By default collections come at fixed places, so that a run that differs in a page or two still does
# the same work; `gc` leaves them to the VM. Ends without exit handlers: reports are not counted.

class Node
  def initialize(a, b)
    @a = a
    @b = b
  end
end

def mixed(n, collect_every)
  keep = Array.new(1024)
  i = 0
  while i < n
    string = "item #{i}"
    array = [i, string]
    hash = { key: array, name: string }
    node = Node.new(array, hash)
    _float = 1e300 * (i + 1) # no flonum
    _long = "x" * 100
    keep[i & 1023] = node
    i += 1
    if i % collect_every == 0
      GC.enable
      GC.start(full_mark: false, immediate_sweep: false)
      GC.disable
    end
  end
end

n = Integer(ARGV[0])
if ARGV[1] == "gc"
  mixed(n, n + 1)
else
  GC.start
  GC.disable
  mixed(n, 10_000)
end
stat = defined?(GC::SampleProfile) ? GC::SampleProfile.stat : {}
print GC.count, " ", stat[:samples_taken].to_i
$stdout.flush
exit!(0)
