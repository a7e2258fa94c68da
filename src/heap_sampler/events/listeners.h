#ifndef HEAP_SAMPLER_EVENTS_LISTENERS_H
#define HEAP_SAMPLER_EVENTS_LISTENERS_H
/*
 * Who listens, and how listeners are called.  include/ruby/heap_sampler.h is
 * their contract; extending/listen.c lets them in and out.
 *
 * A listener is a session, one of those above HS_PROFILES: chance, epochs and
 * caps are those of all sessions, so its samples are as if it were alone.  It
 * has no totals.
 *
 *     slots, at once      the allocator's slow path takes a sampled slot and
 *                         leaves it *pending*: it is not initialised yet.  The
 *                         flag of the event is set, so newobj_of in gc.c, which
 *                         asks for NEWOBJ with the same instruction, comes here
 *                         when it is.
 *     all else            waits until a safe point (events/changes.h, and the
 *                         births of malloc/table.c): in GC and in malloc(3)
 *                         nobody may be called.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/mri.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/events/changes.h"

/* Changes of slots: [write]. */
extern struct hs_changes rb_hs_slot_changes;

struct hs_sampled {
    uint64_t id;
    hs_session_set listeners;
    uint32_t size, slot_size, thread, labels;
    uint64_t stack;
    uint64_t interval[HS_SESSIONS - HS_PROFILES];
    uint64_t gc_count;
};
/* A slot was taken; it is told when it is an object. [vm] */
void rb_hs_listeners_sampled(const struct hs_sampled *sampled);
/* Does this thread run a function of a listener? What it allocates is told to nobody. [vm] */
bool rb_hs_listener_called_p(void);

/* The number of a stack that others may know. [read] */
uint64_t rb_hs_stack_number(uint32_t node);

/* -- letting in, and out: [gvl] --------------------------------------------- */

struct hs_listener {
    uint64_t serial;            /* 0: the place is free */
    bool on;                    /* else it is on its way in or out */
    rb_heap_sampler_listener_type_t type;
    void *data;
};
/* The session of a free place, which is taken; 0: none is free. */
int rb_hs_listener_enter(const rb_heap_sampler_listener_type_t *type, void *data, uint64_t *serial);
void rb_hs_listener_leave(int session);
/* NULL: nobody. */
struct hs_listener *rb_hs_listener_of(int session);
/* The session of the listener with this number; 0: none has it. */
int rb_hs_listener_session(uint64_t serial);
unsigned rb_hs_listener_count(void);

/* Call the one with this number at a safe point, if it listens still. [gvl] */
void rb_hs_listener_call_malloced(int session, uint64_t serial, const rb_heap_sampler_allocation_t *allocations, size_t count);
void rb_hs_listener_call_changed(int session, uint64_t serial, const rb_heap_sampler_change_t *changes, size_t count);
/* Exceptions that were not raised, ever. [any] */
uint64_t rb_hs_listener_errors(void);
/* Events of which nobody was told for want of stack, ever. [any] */
uint64_t rb_hs_listener_missed(void);

/* What `allocated` is called for on this thread; NULL: it is not. [gvl] */
const rb_heap_sampler_allocation_t *rb_hs_listener_now(void);
/* In a child, whose other threads are gone. [gvl] */
void rb_hs_listeners_after_fork(void);
/* What ruby_vm_event_flags has of ours: the flag of the event, while something is pending. [any] */
rb_event_flag_t rb_hs_listeners_event_flag(void);

#endif
