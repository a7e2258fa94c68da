#ifndef HEAP_SAMPLER_MALLOC_SAMPLER_H
#define HEAP_SAMPLER_MALLOC_SAMPLER_H
/*
 * Sampling of malloc: jemalloc's profiler draws the samples and counts what
 * lives; we tell it the stack.  It must have been opened when the process
 * began (malloc_boot.h); what is missing is said in words.
 */
#include "profile.h"

/* All options are read: take up what the process was started with. GVL. */
void rb_hs_malloc_boot(void);
/* Sample, or stop to. Without effect where the profiler is not open. `fresh`
 * forgets what was sampled before. GVL. */
void rb_hs_malloc_start(bool fresh);
void rb_hs_malloc_stop(void);

/* Name the stacks that were met since. VM lock; in GC only when marking is
 * complete and nothing is swept; lock not held. */
void rb_hs_malloc_resolve(void);
/* Code has died or moved. In GC. */
void rb_hs_malloc_forget_addresses(void);

/* State, interval, allocator, and what is missing. Any thread. */
void rb_hs_malloc_describe(struct hs_malloc_meta *meta);

/* What sampling adds to jemalloc's figures now; a dump of its own. Any thread,
 * without the GVL. */
void rb_hs_malloc_excess(struct hs_account_excess *excess);

struct hs_malloc_counts {
    uint64_t samples;           /* taken, with a stack or with a reason for none */
    uint64_t gc, no_gvl, busy, own;     /* of these, by the reason */
    uint32_t stacks, pending;
};
void rb_hs_malloc_counts(struct hs_malloc_counts *counts);

#endif
