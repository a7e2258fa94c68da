#ifndef HEAP_SAMPLER_PROFILE_SNAPSHOT_H
#define HEAP_SAMPLER_PROFILE_SNAPSHOT_H
/* A profile of what one session knows now. */
#include "heap_sampler/profile/profile.h"

enum hs_snapshot_flags {
    HS_WITH_SAMPLES = 1,        /* each living sample, not only rows */
    HS_MAY_HOLD_UP = 2          /* see rb_hs_account_take */
};

/* Everything that one session knows, copied out in a short hold of the lock,
 * then worked on without it. NULL: no memory, or the session is over. [any] */
struct hs_profile *rb_hs_snapshot(int session, unsigned flags);
/* `profile` may be NULL. */
void rb_hs_snapshot_free(struct hs_profile *profile);

#endif
