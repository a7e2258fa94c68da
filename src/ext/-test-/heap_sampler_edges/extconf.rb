# frozen_string_literal: false

$INCFLAGS << " -I$(topdir) -I$(top_srcdir)"
create_makefile("-test-/heap_sampler_edges")
