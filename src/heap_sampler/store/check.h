#ifndef HEAP_SAMPLER_STORE_CHECK_H
#define HEAP_SAMPLER_STORE_CHECK_H
/*
 * What must hold of the sampler's tables at every moment, asserted in check builds (base/contract.h):
 *
 *   every table is on its page, every page with a table is in the list, and no table is empty
 *   every record refers to a live slot, of the type that was allocated in it; at the end of marking
 *     it is marked
 *   the counts of records (all, by epoch, by session) are right
 *   every number refers to something: epoch, site, node, frame, text, class, code, raw stack; each map leads to it
 *   code and classes that are known by address are alive
 *   a site's allocations are no fewer than its frees and its live samples
 *
 * store/check.c compares tables with each other and with the heap: after each mark, after moves, at start, stop and
 * change of the interval, and after a snapshot that Ruby code waits for.  A snapshot of a thread without the GVL, and a
 * forked child, check what reads no heap slot.  (Another Ractor may have been in the middle of an allocation at the
 * fork; the child's first mark checks its slots.)  A check goes over all tables, so check builds are slow with many
 * samples.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/contract.h"

#if HS_CHECKING
#include "ruby/internal/value.h"

/* Each table alone. [read], and of malloc the mutex */
void rb_hs_pages_check(void);
void rb_hs_stacks_check(void);
void rb_hs_classes_check(void);
void rb_hs_malloc_check(void);
/* Does the number stand for a class, or for all others; and is this the type that it stands for? [vm] */
bool rb_hs_class_used_p(uint32_t class_id);
bool rb_hs_class_has_type(uint32_t class_id, VALUE flags);
/* Code and classes that are known by address are alive. [vm] */
void rb_hs_codes_check_living(bool (*alive)(uintptr_t address));
void rb_hs_classes_check_living(bool (*alive)(uintptr_t address));

/* All tables; no heap slot is read. [read] */
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
