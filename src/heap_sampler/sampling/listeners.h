#ifndef HEAP_SAMPLER_SAMPLING_LISTENERS_H
#define HEAP_SAMPLER_SAMPLING_LISTENERS_H
/*
 * What the allocator's hooks do for listeners.  include/ruby/heap_sampler.h is their contract; ruby/listen.c lets them in
 * and out, and calls them.
 *
 * A listener is a session, one of those above HS_PROFILES: chance, epochs and caps are the same as for any session, so
 * its samples are as if it were alone.  It has no totals.
 *
 *     slots, at once      the slow path takes a sampled slot, which is not initialised yet, and leaves it *pending*.  The
 *                         flag of the event is set.  So newobj_of in gc.c, which looks for NEWOBJ with the same
 *                         instruction, calls rb_heap_sampler_on_newobj when the slot is initialised.
 *                         It runs with the VM lock held and GC disabled.  An allocation without a sample costs
 *                         nothing, with listeners too.
 *     all else            waits until a safe point (store/changes.h, and the samples that wait in store/malloc_table.c):
 *                         in GC and in malloc(3) no listener may be called.
 */
#include "heap_sampler/mri.h"
#include "heap_sampler/store/changes.h"

/* A slot was taken; listeners are called when it is an object. [vm] */
void rb_hs_listeners_sampled(const struct hs_sampled *sampled);
/* The slot that this thread has taken; `listeners` is 0: none. It is not pending any more. [vm] */
struct hs_sampled rb_hs_listeners_take_sampled(void);
/* What ruby_vm_event_flags has of ours: the flag of the event, while something is pending. [any] */
rb_event_flag_t rb_hs_listeners_event_flag(void);

/* A call of a listener's function, while it runs. */
struct hs_listener_call {
    struct hs_listener_call *outer;     /* of this thread or another */
    const rb_thread_t *th;
    struct hs_text_bytes *names;        /* held: names of frames that it asks for */
};
/* [gvl] */
void rb_hs_listener_call_begin(struct hs_listener_call *call);
void rb_hs_listener_call_end(struct hs_listener_call *call);
/* The innermost of this thread; NULL: it runs none. What it allocates there is reported to no listener. [gvl] */
struct hs_listener_call *rb_hs_listener_called(void);
/* In a child, whose other threads are gone. [gvl] */
void rb_hs_listeners_after_fork(void);

#endif
