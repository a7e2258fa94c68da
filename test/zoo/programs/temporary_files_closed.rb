# Healthy: temporary files with finalizers (Tempfile), six a second, of which the last hundred are open; older ones are left to
# the GC, which runs their finalizers.
#
# kind: steady
# also: bloat
# settles: 20
require_relative "../load"
require "tempfile"

OPEN = []

def export(number)
  file = Tempfile.new("export")
  file.write(Array.new(100) { |i| "row #{i} of export #{number}\n" }.join)
  file.flush
  OPEN << file
  OPEN.shift if OPEN.size > 100
end

Load.run(6) do |n|
  export(n)
  Array.new(3_000) { |i| "<li>#{n} #{i}</li>" }.join
end
