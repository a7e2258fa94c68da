/* See sites/site_table.h. */
#include "heap_sampler/sites/site_table.h"
#include "heap_sampler/base/memory.h"
#include "heap_sampler/base/must.h"
#include "heap_sampler/base/table.h"
#include "heap_sampler/estimate/epochs.h"
#include "heap_sampler/labels/label_sets.h"
#include "heap_sampler/sites/sampler.h"
#include "heap_sampler/stacks/stack_table.h"

#include <string.h>

static struct hs_map sites_by_key = {.use = HS_MEM_TOTALS};

enum { CLASS_BITS = 18,
       HEAP_BITS = 8,
       LABEL_BITS = 11 };
_Static_assert(HS_LABEL_NUMBERS <= 1 << LABEL_BITS, "a key has its number");

/* While own memory is bounded all sessions' totals must do with what they have
 * when there is one. */
uint32_t
rb_hs_sites_max(void)
{
    if (!rb_hs_memory_bound_p()) return 1u << 18;
    uint32_t sessions = 0;
    for (int s = 0; s < HS_PROFILES; s++) sessions += rb_hs_sampler.session[s].on;
    return (1u << 15) / (sessions ? sessions : 1);
}

static bool
room_for(const struct hs_site *site)
{
    if (site->node == HS_NODE_EMPTY && site->class_id == HS_NO_CLASS) return true;
    uint32_t most = rb_hs_sites_max();
    if (!rb_hs_node_evicted_p(site->node)) most -= most / 16;
    return rb_hs_sampler.site_count < most;
}

/* Node, class, slot size (a multiple of 8 below 2048) and labels in one key. */
static uint64_t
site_key(const struct hs_site *site)
{
    uint64_t key = site->node;
    key = key << CLASS_BITS | (site->class_id & ((1u << CLASS_BITS) - 1));
    key = key << HEAP_BITS | ((site->slot_size / 8u) & ((1u << HEAP_BITS) - 1));
    return (key << LABEL_BITS | site->labels) + 1;
}

static uint32_t
find_or_add(const struct hs_site *site, bool anyway)
{
    uint64_t key = site_key(site);
    const uint32_t *found = rb_hs_map_find(&sites_by_key, key);
    if (found) return *found;
    if ((!anyway && !room_for(site)) ||
        !rb_hs_grow(HS_MEM_TOTALS, (void **)&rb_hs_sampler.sites, &rb_hs_sampler.site_capacity,
                    (uint64_t)rb_hs_sampler.site_count + 1, sizeof(*rb_hs_sampler.sites)) ||
        !rb_hs_map_put(&sites_by_key, key, rb_hs_sampler.site_count)) {
        return UINT32_MAX;
    }
    rb_hs_sampler.sites[rb_hs_sampler.site_count] = *site;
    return rb_hs_sampler.site_count++;
}

uint32_t
rb_hs_site_of(struct hs_site site)
{
    HS_CONTRACT(write);
    return find_or_add(&site, false);
}

struct hs_totals *
rb_hs_totals_of(struct hs_session *session, uint32_t site)
{
    HS_CONTRACT(write);
    if (site >= session->totals_count) {
        if (!rb_hs_grow(HS_MEM_TOTALS, (void **)&session->totals, &session->totals_capacity,
                        (uint64_t)site + 1, sizeof(*session->totals))) {
            return NULL;
        }
        memset(session->totals + session->totals_count, 0,
               (session->totals_capacity - session->totals_count) * sizeof(*session->totals));
        session->totals_count = session->totals_capacity;
    }
    return &session->totals[site];
}

uint32_t
rb_hs_site_anyway(struct hs_site site)
{
    return find_or_add(&site, true);
}

void
rb_hs_sites_clear(void)
{
    rb_hs_map_clear(&sites_by_key);
    rb_hs_sampler.site_count = 0;
}
