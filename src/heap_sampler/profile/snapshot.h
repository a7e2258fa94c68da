#ifndef HEAP_SAMPLER_PROFILE_SNAPSHOT_H
#define HEAP_SAMPLER_PROFILE_SNAPSHOT_H
/* A profile of what one session knows now. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/base/table.h"
#include "heap_sampler/profile/profile.h"

/* Snapshot: everything that one session knows, copied out in a short hold of
 * the lock, then worked on without it. Any thread. NULL: no memory, or the
 * session is over. */
struct hs_live_sample {
    uint64_t id;
    uintptr_t body;
    uint16_t slot;
    bool young;
    uint32_t node, class_text, type_text, slot_size, thread;
    uint64_t birth_gc, age;
    double weight;
    size_t row;                 /* of the profile: which it was added to */
};
struct hs_live_samples {
    struct hs_live_sample *list;
    size_t count;
    uint64_t moves;             /* of the sampler, when the samples were where they say */
    struct hs_map by_id;        /* positions; empty until one is looked for */
};
void rb_hs_live_samples_free(struct hs_live_samples *samples);

/* `samples` may be NULL. `may_hold_up`: see rb_hs_account_take. */
struct hs_profile *rb_hs_snapshot(int session, struct hs_live_samples *samples, bool may_hold_up);
/* `profile` may be NULL. */
void rb_hs_snapshot_free(struct hs_profile *profile);

#endif
