#ifndef HEAP_SAMPLER_COLLECTIONS_COLLECTIONS_H
#define HEAP_SAMPLER_COLLECTIONS_COLLECTIONS_H
/*
 * The GCs of this process: when each began.  They are followed from the first
 * one on, sampling or not, and a forked child knows those of its parent.
 */
#include <stdint.h>
#include "heap_sampler/collections/gc_times.h"

/* The times are Unix time, in nanoseconds, reckoned back from now. [tables] */
void rb_hs_gc_times_copy(struct hs_gc_times *copy);

#endif
