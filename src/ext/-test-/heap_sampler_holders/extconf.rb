# frozen_string_literal: false

create_makefile("-test-/heap_sampler_holders")
