#ifndef HEAP_SAMPLER_BASE_LOCKS_H
#define HEAP_SAMPLER_BASE_LOCKS_H
/*
 * All locks, what each protects, and their order.
 *
 *     VM lock                 MRI's: the GVL, while there is one Ractor
 *       the sampler's lock    this file
 *         the malloc mutex    malloc/table.c
 *           the mutex of native names     native/names.c: not below the two above
 *         the mutex of the living         account/alive.c: nothing is below it
 *
 * A thread takes them from the top downwards only, and may leave out any.
 *
 * *The sampler's lock* protects the tables of stacks/, sites/ and slots/.  Who
 * writes to them holds the VM lock as well, so that code which holds the VM
 * lock may read them without this one.  A thread without the GVL only reads,
 * and holds this one.  Who holds it reads no Ruby heap slot, raises nothing,
 * allocates no Ruby object and calls no xmalloc, which may start a GC.
 *
 * *The malloc mutex* protects the tables of malloc/.  It is taken inside
 * malloc(3), on any thread, at any moment.
 *
 * *The mutex of the living* protects the lists of threads and fibers, and the
 * structs of those in them from being freed.  It is taken where one begins and
 * where it is freed, in GC too.
 *
 * Around fork(2) the parent holds all of ours (life/life.c, malloc/table.c), so that the child finds its tables whole.
 */
#include <stdbool.h>

void rb_hs_lock(void);
void rb_hs_unlock(void);
/* Does this thread hold the sampler's lock? Also inside malloc. */
bool rb_hs_locked_p(void);

#endif
