#ifndef HEAP_SAMPLER_STORE_CHECK_H
#define HEAP_SAMPLER_STORE_CHECK_H
/*
 * What must hold of the sampler's tables at every moment, asserted in check
 * builds: those with RGENGC_CHECK_MODE or RUBY_DEBUG.  In other builds none of
 * this is compiled: a process in production is never ended by its profiler.
 *
 *   every table is on its page, every page with a table is in the list, and
 *     no table is empty
 *   every record names a slot that is in use, of the type that was born in it;
 *     at the end of marking it is marked
 *   the counts of records (all, by epoch, by session) are those counted over
 *   every number refers to something: epoch, site, node, frame, text, class,
 *     code, stack of malloc's, and each map leads to what it says
 *   code and classes that are known by address are alive
 *   a site's births are no fewer than its deaths and its living
 *
 * Each table checks itself, in a function beside the state that it is about;
 * store/check.c has what is between tables, and what is between them and the heap.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/contract.h"

#if HS_CHECKING

/* Each table checks itself, and what is between them is checked here; no heap slot is read. [read] */
void rb_hs_check_tables(void);

enum hs_check_moment {
    HS_CHECK_MARKED,            /* in GC: marking has just ended; what is alive is marked */
    HS_CHECK_ANY,               /* in GC, or while no other Ractor allocates */
};
/* The tables and the heap. [vm] [free] */
void rb_hs_check(enum hs_check_moment moment);
/* Is there an object at the address? */
bool rb_hs_check_in_use(uintptr_t address);
/* The same, whatever other Ractors do. [gvl] [free] */
void rb_hs_check_now(void);

#else
#define rb_hs_check_tables() ((void)0)
#define rb_hs_check(moment) ((void)0)
#define rb_hs_check_now() ((void)0)
#endif

#endif
