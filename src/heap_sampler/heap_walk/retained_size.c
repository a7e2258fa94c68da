/* What would be freed: see heap_walk/walk.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/heap_walk/walk.h"

/* Shares: of all bytes, for a holder to be listed; of the bytes of a holder above it, from which on it is left out. */
static const double least_share = 0.01, own_share = 0.9;

/* -- which ------------------------------------------------------------------------------------ */

/* Bytes of each node with all below it. */
static double *
totals_of(const struct hs_found *found, const struct hs_wanted *wanted)
{
    double *totals = rb_hs_arena_map(found->node_count * sizeof(*totals));
    if (!totals) return NULL;
    for (uint32_t i = 0; i < wanted->count; i++) totals[found->samples[i].node] += wanted->sample(wanted->data, i).weight.space;
    for (uint32_t i = found->node_count; i-- > HS_TOP_COUNT;) totals[found->nodes[i].parent] += totals[i];
    return totals;
}

/* Can code let go of it? Not of a module, nor of a thread; of a fiber or a binding its local variables are listed. */
static bool
one_holder_p(const struct hs_retainer *node, VALUE object)
{
    if (node->objects != 1 || node->folded) return false;
    switch (BUILTIN_TYPE(object)) {
    case T_CLASS:
    case T_MODULE:
    case T_ICLASS:
    case T_IMEMO: return false;
    case T_DATA: return !rb_ractor_p(object) && !rb_hs_walk_stack_p(object);
    default: return true;
    }
}

/* Inserts the node if it is among the HS_FREED_MOST largest so far, the largest first. */
static void
propose(struct hs_freed *freed, uint32_t *count, uint32_t node, double bytes)
{
    uint32_t place = *count;
    while (place && freed[place - 1].space < bytes) place--;
    if (place == HS_FREED_MOST) return;
    if (*count < HS_FREED_MOST) ++*count;
    for (uint32_t i = *count - 1; i > place; i--) freed[i] = freed[i - 1];
    freed[place] = (struct hs_freed){.node = node, .space = bytes};
}

/* The nearest to the root of those that hold the same. */
static uint32_t
choose(const struct hs_chains *chains, const double *totals, struct hs_freed *freed)
{
    const struct hs_found *found = chains->walk->found;
    double all = 0, *above = rb_hs_arena_map(found->node_count * sizeof(*above));
    uint32_t count = 0;
    if (!above) return 0;
    for (uint32_t i = 0; i < HS_TOP_COUNT; i++) all += totals[i];
    for (uint32_t i = HS_TOP_COUNT; i < found->node_count; i++) {
        above[i] = above[found->nodes[i].parent];
        bool again = above[i] && totals[i] >= above[i] * own_share;
        if (again || totals[i] < all * least_share || !one_holder_p(&found->nodes[i], chains->objects[i])) continue;
        above[i] = totals[i];
        propose(freed, &count, i, totals[i]);
    }
    return count;
}

/* -- how much ----------------------------------------------------------------------------------- */

/* The samples that the walk with all had reached, and this one has not. A block goes with its object. */
static struct hs_freed
sum_unreached(const struct hs_chains *chains, const struct hs_wanted *wanted, const uint32_t *owners, uint32_t node)
{
    struct hs_freed sum = {.node = node};
    for (uint32_t i = 0; i < wanted->count; i++) {
        if (chains->walk->found->samples[i].node == HS_TOP_NOT_REACHED || *hs_index_from(&chains->walk->index, owners[i])) continue;
        struct hs_estimate weight = wanted->sample(wanted->data, i).weight;
        sum.objects += weight.objects;
        sum.space += weight.space;
        sum.variance += weight.variance;
    }
    return sum;
}

static void
walk_without(struct hs_walk *walk, VALUE object)
{
    rb_hs_walk_clear(walk);
    rb_hs_waiters_forget();
    walk->without = object;
    rb_hs_roots_walk(walk);
    rb_hs_waiters_settle(walk);
    if (rb_hs_finalizers_settle(walk)) rb_hs_waiters_settle(walk);
}

void
rb_hs_without(struct hs_chains *chains, const struct hs_wanted *wanted, const uint32_t *owners, uint64_t until_ns)
{
    struct hs_found *found = chains->walk->found;
    const double *totals = totals_of(found, wanted);
    uint32_t count = totals ? choose(chains, totals, found->freed) : 0;
    uint64_t longest = 0;
    chains->walk->each = NULL;
    for (; found->freed_count < count; found->freed_count++) {
        struct hs_freed *freed = &found->freed[found->freed_count];
        uint64_t begun = rb_hs_steady_ns();
        if (begun + longest >= until_ns) break;
        walk_without(chains->walk, chains->objects[freed->node]);
        *freed = sum_unreached(chains, wanted, owners, freed->node);
        uint64_t took = rb_hs_steady_ns() - begun;
        if (took > longest) longest = took;
    }
}
