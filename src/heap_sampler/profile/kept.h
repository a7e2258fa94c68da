#ifndef HEAP_SAMPLER_PROFILE_KEPT_H
#define HEAP_SAMPLER_PROFILE_KEPT_H
/*
 * What retains samples, in a profile: the samples of each row by the node of the
 * chain that they are reached on (heap_walk/retainers.h).  The parts of a row add
 * up to its `inuse` and `young`.  And what pins the objects that hold free memory
 * of heap pages: these add up to holds_free_pinned of all rows.  [any]
 */
#include <stdbool.h>
#include "heap_sampler/heap_walk/launch.h"
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/slot_rows.h"

/* The samples of a snapshot: the child of heap_walk/launch.h finds their chains, which become `kept` of a profile. */
struct hs_copies {
    struct hs_slot_copies slots;
    struct hs_malloc_copy malloc;
};

/* `copies` stay where they are until the child has ended. [vm], and no other Ractor runs; not in GC. */
void rb_hs_kept_samples_fork(struct hs_walk_child *child, const struct hs_copies *copies);
/* After the rows and the answer. False: no memory. [any] */
bool rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies);

#endif
