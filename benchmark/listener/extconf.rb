require "mkmf"
abort "this Ruby has no ruby/heap_sampler.h" unless have_header("ruby/heap_sampler.h")
create_makefile("listener")
