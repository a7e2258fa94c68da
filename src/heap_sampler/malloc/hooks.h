#ifndef HEAP_SAMPLER_MALLOC_HOOKS_H
#define HEAP_SAMPLER_MALLOC_HOOKS_H
/*
 * Sampling of malloc: jemalloc draws the samples and calls our hooks for the
 * birth and the death of each; malloc/table.c keeps them.  jemalloc's profiler
 * must have been opened when the process began (malloc/boot.c).
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/account/account.h"
#include "heap_sampler/malloc/state.h"

/* Before main(): if the profiler is open, sample from now on, at this interval. */
void rb_hs_malloc_open(uint64_t interval);
/* All options are read: go on, or stop if they say so. [gvl] */
void rb_hs_malloc_boot(bool wanted);

/* A session begins to sample malloc: an interval in bytes, and the serial of
 * the only thread that it is of, 0: all.  Without effect where malloc cannot
 * be sampled.  false: no memory. [gvl] [free] */
bool rb_hs_malloc_start(int session, uint64_t interval, uint32_t thread);
void rb_hs_malloc_stop(int session);
/* false: no memory, the interval is what it was. [vm] [free] */
bool rb_hs_malloc_retune(int session, uint64_t interval);

/* Name the stacks that were met since. In GC only when marking is complete
 * and nothing is swept. [vm] [free] */
void rb_hs_malloc_name_stacks(void);
/* Are there any? [any] */
bool rb_hs_malloc_raw_stacks_p(void);

/* malloc=auto: take the interval that the budget pays for now. [vm] [free] */
void rb_hs_malloc_follow_pace(void);

/* State, interval, allocator, and why it is missing, of a session. [any] */
void rb_hs_malloc_describe(struct hs_malloc_meta *meta, int session);

/* What sampling adds to jemalloc's figures now. [malloc] */
void rb_hs_malloc_excess(struct hs_account_excess *excess);

/* [malloc] */
void rb_hs_malloc_counts(struct hs_malloc_counts *counts);

#endif
