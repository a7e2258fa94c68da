# An extension in C registers each filter that it compiles with the GC, for ever, lest it be collected. Each request has a
# filter of its own.
#
# kind: leak
# line: frames.c, frames.so
# keeper: frames, rb_gc_register_mark_object, global variable of C, C code
# rate: 180000
require_relative "../load"
require_relative "../extension"
Extension.load("frames")

def filter(number) = Frames.filter(Array.new(20) { |i| "step #{i} of the filter of user #{number}" }.join(",")) # LEAK

Load.run(70) { |n| filter(n).size } # LEAK
