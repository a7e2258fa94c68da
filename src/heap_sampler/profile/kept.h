#ifndef HEAP_SAMPLER_PROFILE_KEPT_H
#define HEAP_SAMPLER_PROFILE_KEPT_H
/*
 * Who keeps what, in a profile: the samples of each row by the node of the
 * chain that they are reached on (holders/chains.h).  The parts of a row add up
 * to its `inuse` and `young`.  And what pins the objects that hold free memory of
 * heap pages: these add up to holds_free_pinned of all rows.  [any]
 */
#include <stdbool.h>
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/slot_rows.h"

/* The samples of a snapshot, as the child of holders/ask.h is asked for them, and its answer as `kept` of a profile. */
struct hs_copies {
    struct hs_slot_copies slots;
    struct hs_malloc_copy malloc;
};

/* `copies` stay where they are until the child has ended. [vm], and no other Ractor runs; not in GC. */
void rb_hs_kept_samples_fork(struct hs_holders_child *child, const struct hs_copies *copies);
/* After the rows and the answer. False: no memory. [any] */
bool rb_hs_kept_samples_join(struct hs_profile *profile, const struct hs_copies *copies);

#endif
