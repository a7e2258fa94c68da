#ifndef TEST_SNAPSHOT_H
#define TEST_SNAPSHOT_H
/* A profile in one call. NULL: no memory, or the session is over. */
#include "heap_sampler/profile/snapshot.h"

static inline struct hs_profile *
take_snapshot(int session, unsigned flags)
{
    struct hs_snapshot *snapshot = rb_hs_snapshot_begin(session, flags, 0);
    if (!snapshot) return NULL;
    rb_hs_snapshot_work(snapshot, NULL);
    return rb_hs_snapshot_end(snapshot);
}

#endif
