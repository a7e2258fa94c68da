#ifndef HEAP_SAMPLER_CHECK_H
#define HEAP_SAMPLER_CHECK_H
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
 * check.c has what is between tables, and what is between them and the heap.
 */
#include <stdbool.h>
#include <stdint.h>

#ifndef HS_CHECKING             /* a test of tables without a VM may say so itself */
# if (defined(RGENGC_CHECK_MODE) && RGENGC_CHECK_MODE + 0 > 0) || (defined(RUBY_DEBUG) && RUBY_DEBUG + 0 > 0)
#  define HS_CHECKING 1
# else
#  define HS_CHECKING 0
# endif
#endif

#if HS_CHECKING
/* Ends the process: says what does not hold, with the figures. */
void rb_hs_fault(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
# define HS_MUST(holds, ...) do { if (!(holds)) rb_hs_fault(__VA_ARGS__); } while (0)

/* Of one table each. The lock, or the VM lock. */
void rb_hs_pages_check(void);
void rb_hs_stacks_check(void);
void rb_hs_classes_check(void);
/* Takes the malloc mutex. */
void rb_hs_malloc_check(void);
bool rb_hs_malloc_mislead(void);
/* What they know by address is alive: `alive` says so. VM lock. */
void rb_hs_codes_check_living(bool (*alive)(uintptr_t address));
void rb_hs_classes_check_living(bool (*alive)(uintptr_t address));

/* All of these, and what is between them; no heap slot is read. The lock, or
 * the VM lock. */
void rb_hs_check_tables(void);

enum hs_check_moment {
    HS_CHECK_MARKED,            /* in GC: marking has just ended; what is alive is marked */
    HS_CHECK_ANY,               /* in GC, or while no other Ractor allocates */
};
/* The tables and the heap. VM lock, the lock not held. */
void rb_hs_check(enum hs_check_moment moment);
/* The same, whatever other Ractors do. GVL. */
void rb_hs_check_now(void);

/* GC::SampleProfile.check and .spoil, for tests. */
void rb_hs_init_check(void);
#else
# define HS_MUST(holds, ...) ((void)(holds))
# define rb_hs_check_tables() ((void)0)
# define rb_hs_check(moment) ((void)0)
# define rb_hs_check_now() ((void)0)
# define rb_hs_init_check() ((void)0)
#endif

#endif
