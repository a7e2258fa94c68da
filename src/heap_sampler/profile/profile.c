/*
 * What a profile does by itself.  The texts are the sampler's names, not ours.
 */
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/base/memory.h"

#include <string.h>

double
rb_hs_row_resident(const struct hs_row *row)
{
    return row->malloced ? row->resident : row->inuse.space;
}

/* The arrays go, the struct stays (it may be part of another, or on a C
 * stack) and is empty: a second call does no harm. */
void
rb_hs_profile_free(struct hs_profile *profile)
{
    if (!profile) return;
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->rows);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->nodes);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->frames);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->texts);
    rb_hs_free(HS_MEM_SNAPSHOTS, profile->mappings);
    memset(profile, 0, sizeof(*profile));
}
