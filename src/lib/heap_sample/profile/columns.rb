# frozen_string_literal: true

module HeapSample
  # Columns of a row as it is handed over; each estimate takes four: samples,
  # objects, space and variance of space.
  module Columns
    STACK, CLASS, TYPE, SLOT_SIZE, THREAD, BIRTH_GC, INUSE = *0..6
    YOUNG = 10
    ALLOC = 14
    DEAD = 18
    DEAD_GCS = 22
    LIBRARY = 23        # "" of a row of slots
    MALLOC = 24         # true or false
    MEMSIZE = 25
    RESIDENT = 26       # bytes of what is in use
    COUNT = 27
  end
end
