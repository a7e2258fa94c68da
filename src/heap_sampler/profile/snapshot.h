#ifndef HEAP_SAMPLER_PROFILE_SNAPSHOT_H
#define HEAP_SAMPLER_PROFILE_SNAPSHOT_H
/*
 * A profile of what one session knows now, copied out in a short hold of the lock, then worked on without it.  In three steps,
 * since HS_WITH_RETAINERS needs the GVL for the first, and time for the second.
 */
#include <stdbool.h>
#include "heap_sampler/profile/profile.h"

enum hs_snapshot_flags {
    HS_WITH_SAMPLES = 1,        /* each living sample, not only rows */
    HS_MAY_HOLD_UP = 2,         /* see rb_hs_account_take */
    HS_WITH_RETAINERS = 4,        /* what retains them: heap_walk/retainers.h */
    HS_FORCED = 16,             /* the program does not ask for the walk: what it costs is counted */
    HS_BY_ITSELF = 8,           /* no person asks for that: after a walk that was killed there is none */
    /* Why the profile is taken; without any of these it was asked for. */
    HS_PERIODIC = 32,
    HS_AT_EXIT = 64,
    HS_AT_RSS = 128,
    HS_FOR_AGENT = 256,
    HS_REASONS = HS_PERIODIC | HS_AT_EXIT | HS_AT_RSS | HS_FOR_AGENT
};

struct hs_snapshot;
/* `seconds`: what the walk may take, 0: the usual deadline. NULL: no memory. [any] [free]; [gvl] with HS_WITH_RETAINERS */
struct hs_snapshot *rb_hs_snapshot_begin(int session, unsigned flags, unsigned seconds);
/* No heap walk was made, for this reason: the profile says so. */
void rb_hs_snapshot_refuse(struct hs_snapshot *snapshot, enum hs_refusal refusal);
/* False: *interrupted, and it is not complete; more of the same is to follow, or the end. NULL: never. [any] [free] */
bool rb_hs_snapshot_work(struct hs_snapshot *snapshot, const volatile bool *interrupted);
/* The profile, and no snapshot any more. If it is not complete, it has no heap walk. NULL: no memory, or the
 * session is over. [any] [free] */
struct hs_profile *rb_hs_snapshot_end(struct hs_snapshot *snapshot);
/* What a profile says about its session, except its account, census and side of malloc. [tables] */
void rb_hs_describe(struct hs_profile_meta *meta, int session);
/* `profile` may be NULL. */
void rb_hs_snapshot_free(struct hs_profile *profile);

#endif
