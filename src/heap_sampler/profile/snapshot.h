#ifndef HEAP_SAMPLER_PROFILE_SNAPSHOT_H
#define HEAP_SAMPLER_PROFILE_SNAPSHOT_H
/* A profile of what one session knows now. */
#include <stdbool.h>
#include "heap_sampler/profile/profile.h"

enum hs_snapshot_flags {
    HS_WITH_SAMPLES = 1,        /* each living sample, not only rows */
    HS_MAY_HOLD_UP = 2,         /* see rb_hs_account_take */
    HS_WITH_HOLDERS = 4         /* who keeps them: holders/holders.h */
};

/* Everything that one session knows, copied out in a short hold of the lock,
 * then worked on without it. NULL: no memory, or the session is over. [any] */
struct hs_profile *rb_hs_snapshot(int session, unsigned flags);

/* The same in two steps, since HS_WITH_HOLDERS needs the GVL for the first. `end` takes long, and may be told to wait no
 * longer for who keeps what; it frees the snapshot. */
struct hs_snapshot;
/* NULL: no memory. [any] [free]; [gvl] with HS_WITH_HOLDERS */
struct hs_snapshot *rb_hs_snapshot_begin(int session, unsigned flags);
/* [any] [free] */
struct hs_profile *rb_hs_snapshot_end(struct hs_snapshot *snapshot, const volatile bool *cancelled);
/* `profile` may be NULL. */
void rb_hs_snapshot_free(struct hs_profile *profile);

#endif
