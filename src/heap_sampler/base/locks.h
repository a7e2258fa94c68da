#ifndef HEAP_SAMPLER_BASE_LOCKS_H
#define HEAP_SAMPLER_BASE_LOCKS_H
/*
 * The order of all locks. A thread takes them from the top to the bottom, and may leave out any.
 *
 *     service.work                  service/service.c: the service's thread holds it while it answers
 *       VM lock                     MRI's: the GVL, while there is one Ractor
 *         the sampler's lock        base/locks.c
 *           the malloc mutex        malloc/table.c
 *             jemalloc's locks
 *         `visits`                  account/alive.c: one visit of all threads and fibers at a time
 *           `mutex`                 account/alive.c
 *
 * Under these a thread takes no other lock except the locks of malloc(3):
 *
 *     `lock`                        native/names.c: names of native code
 *     `mutex`                       process/safe_point.c: the list of calls
 *     periodic.mutex                process/periodic.c: the state of the thread of every=
 *     job.mutex                     process/within.c: one job, which is waited for
 *     service.mutex                 service/service.c: the state of the service's thread
 *
 * *The sampler's lock* protects the tables of stacks/, sites/ and slots/. A thread that writes to
 * them holds the VM lock as well, so that code which holds the VM lock may read them without this
 * one. A thread without the GVL only reads, and holds this lock. Its holder reads no Ruby heap slot,
 * raises nothing, allocates no Ruby object and calls no xmalloc, which may start a GC.
 *
 * *The malloc mutex* protects the tables of malloc/. It is taken inside malloc(3), on any thread, at
 * any moment.
 *
 * *The mutex of account/alive.c* protects the lists of threads and fibers, and keeps the structs in
 * them from being freed. It is taken where a thread or a fiber begins and where it is freed, in GC
 * too.
 *
 * The VM forks with the sampler's lock, `lock` of native/names.c, the mutex of account/alive.c and
 * the malloc mutex held (life/life.c, malloc/table.c), so that the child finds whole tables. The end
 * of the process waits for service.work for 2 s at most, and then goes on without it.
 */
#include <stdbool.h>

void rb_hs_lock(void);
void rb_hs_unlock(void);
/* Does this thread hold the sampler's lock? Also inside malloc. */
bool rb_hs_locked_p(void);

#endif
