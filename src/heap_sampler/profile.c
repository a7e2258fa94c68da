/*
 * What a profile does by itself: estimates that add, the account's fields by
 * name, and letting go.  The texts are the sampler's names, not ours.
 */
#include "memory.h"
#include "profile.h"

#include <string.h>

void
rb_hs_estimate_add(struct hs_estimate *sum, const struct hs_estimate *more)
{
    sum->samples += more->samples;
    sum->objects += more->objects;
    sum->space += more->space;
    sum->variance += more->variance;
}

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

void
rb_hs_account_fields(const struct hs_account *account, struct hs_account_field fields[HS_ACCOUNT_FIELDS])
{
    bool surveyed = account->rss != 0, malloc = account->malloc_known;
    const struct hs_account_field all[HS_ACCOUNT_FIELDS] = {
        {"rss", account->rss, surveyed},
        {"slots_live", account->slots_live, true},
        {"slots_free", account->slots_free, true},
        {"malloc_live", account->malloc_live, malloc},
        {"malloc_waste", account->malloc_waste, malloc},
        {"malloc_metadata", account->malloc_metadata, malloc},
        {"stacks", account->stacks, surveyed},
        {"code_and_files", account->code_and_files, surveyed},
        {"jit", account->jit, surveyed},
        {"sampler", account->sampler, true},
        {"unattributed", account->unattributed, surveyed},
        {"pss", account->pss, account->pss != 0},
    };
    memcpy(fields, all, sizeof(all));
}

void
rb_hs_jemalloc_fields(const struct hs_account *account, struct hs_account_field fields[HS_JEMALLOC_FIELDS])
{
    bool known = account->jemalloc;
    const struct hs_account_field all[HS_JEMALLOC_FIELDS] = {
        {"allocated", account->je_allocated, known},
        {"active", account->je_active, known},
        {"resident", account->je_resident, known},
        {"dirty", account->je_dirty, known},
        {"retained", account->je_retained, known},
        {"metadata", account->je_metadata, known},
    };
    memcpy(fields, all, sizeof(all));
}
