#ifndef HEAP_SAMPLER_HOLDERS_WAITERS_H
#define HEAP_SAMPLER_HOLDERS_WAITERS_H
/*
 * Threads and fibers that can never wake.
 *
 * A thread that waits for a Queue, SizedQueue, Mutex, ConditionVariable or
 * another Thread, without a time limit, is woken by who has that object, or the
 * Thread itself (Thread#wakeup, #raise, #kill).  If neither can be reached but
 * from threads that wait in this way, nobody will: the thread and all that its
 * stack holds stay for ever.
 *
 *   read      which threads wait so: their Ractor does not lead to them
 *   settle    after the walk: those whose object, or Thread, was reached are
 *             live, and what they hold is reached through them; and so on,
 *             until no more are found.  The others are stuck.
 *
 * Thread.list is not counted as a way to reach a thread.
 *
 * What a fiber waits for under a scheduler: Queue#pop, SizedQueue#push, Mutex#lock
 * and Thread#join call Fiber::Scheduler#block(blocker, timeout), which lets other
 * fibers run.  Its frames are then
 *
 *     the scheduler's own     transfer, …
 *     block                   self: the scheduler; blocker, timeout
 *     Queue#pop               self: the blocker
 *
 * Where a time limit is given, a timer of the scheduler's will wake it.
 *
 * A fiber that nobody can resume is garbage.  One that waits for such an object in
 * Fiber::Scheduler#block is kept by its scheduler, which wakes it
 * when the object says so: if nobody else has the object, nobody will.  So when
 * the walk comes to it, it is put off, until the object is reached, or what may
 * resume it: who has the fiber in a variable of its own, or in C.  References of an
 * object, Array, Hash or Struct do not count: schedulers keep their books in these.
 *
 * In the child.
 */
#include "heap_sampler/holders/edge.h"
#include "heap_sampler/holders/walk.h"

/* False: no memory. */
bool rb_hs_waiters_read(struct hs_walk *walk);
/* Another walk begins. */
void rb_hs_waiters_forget(void);
void rb_hs_waiters_settle(struct hs_walk *walk);
/* After that: each Thread or Fiber that is stuck. */
void rb_hs_waiters_each_stuck(void (*each)(VALUE stack, void *data), void *data);
/* "waits for Thread::Queue", "fiber waits for Thread::Queue", and where. */
void rb_hs_waiter_edge(VALUE stack, struct hs_edge *edge);

#endif
