#ifndef HEAP_SAMPLER_STORE_CHANGES_H
#define HEAP_SAMPLER_STORE_CHANGES_H
/*
 * What has become of samples that listeners follow, until a safe point: a
 * queue.  It is written where no listener can be called: in GC, in the read
 * barrier's signal handler, inside free(3).
 *
 * A postponed job calls the listeners after each mark, and for malloc when a second has passed or 256 changes wait.
 * What finds no room in the queue is counted as missed.  When a listener has the most samples its interval doubles, as
 * for any session: its samples that go are reported as forgotten, and then the new interval.  So its sums are unbiased
 * at every moment.
 *
 * Each store has one.  No MRI header.  Contract: the lock of the store.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/store/epochs.h"

enum hs_change_kind {
    HS_CHANGE_FREED,            /* a mark found it to be garbage, or it was freed */
    HS_CHANGE_FORGOTTEN,        /* it is not followed any more, live or not */
    HS_CHANGE_MOVED,            /* compaction has moved it */
    HS_CHANGE_INTERVAL          /* there were too many samples: those that are left count at this interval */
};

struct hs_change {
    uint64_t id;
    uint64_t value;             /* the new address, or interval */
    hs_session_set listeners;
    uint16_t kind;
};

struct hs_changes {
    enum hs_memory_use use;
    uint32_t most;              /* that there may be */
    struct hs_change *list;
    uint32_t count, capacity;
    uint64_t missed;            /* found no room, since they were last taken */
};

/* Listeners whose samples are followed: for others no record is kept. Written by [vm]. */
extern hs_session_set rb_hs_followers;

/* The id of a record for listeners and tracers: of slots even, of malloc odd. */
static inline uint64_t
hs_sample_id(uint64_t record, bool malloc)
{
    return record << 1 | malloc;
}
static inline bool
hs_of_malloc_p(uint64_t id)
{
    return id & 1;
}

/* An allocation, for listeners. */
struct hs_sampled {
    uint64_t id;
    hs_session_set listeners;
    uint32_t thread, labels;
    uint64_t size, slot_size;   /* asked for, and taken */
    uint64_t stack;             /* hs_stack_number() */
    uint64_t interval[HS_SESSIONS - HS_PROFILES];
    uint64_t gc_count;
};

/* Add one, if any of the sessions is a listener. */
void rb_hs_changes_add(struct hs_changes *changes, enum hs_change_kind kind, hs_session_set sessions, uint64_t id, uint64_t value);
/* All of them, which the caller frees; none is left. */
struct hs_changes rb_hs_changes_take(struct hs_changes *changes);
/* The listeners are not called for what waits. */
void rb_hs_changes_forget(struct hs_changes *changes, hs_session_set listeners);

/* What cannot be done in GC or in malloc(3) is done at the next safe point, by a postponed job. */

/* From now on `job` can be asked for; one for the life of the process. false: Ruby has no room for another job. [gvl] */
bool rb_hs_later_begin(void (*job)(void *unused));
bool rb_hs_later_p(void);
/* Ask for it. [malloc] */
void rb_hs_later(void);
/* The process ends: the VM goes, and what it frees then would ask for it. [gvl] */
void rb_hs_no_later(void);

#endif
