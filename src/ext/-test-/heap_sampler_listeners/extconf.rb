# frozen_string_literal: false

create_makefile("-test-/heap_sampler_listeners") if have_header("ruby/heap_sampler.h")
