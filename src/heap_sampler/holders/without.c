/* What would be freed: see holders/chains.h. */
#include "heap_sampler/mri.h"
#include "heap_sampler/base/clock.h"
#include "heap_sampler/holders/chains.h"
#include "heap_sampler/holders/roots.h"
#include "heap_sampler/holders/slot_index.h"
#include "heap_sampler/holders/waiters.h"

/* Of all bytes; and of those of a holder above it, from which on it is told by itself. */
static const double least_share = 0.01, own_share = 0.9;

/* -- which ------------------------------------------------------------------------------------ */

/* Bytes of each node with all below it. */
static double *
totals_of(const struct hs_chains *chains, const struct hs_found *found)
{
    const struct hs_wanted *wanted = found->wanted;
    double *totals = rb_hs_arena_map(chains->node_count * sizeof(*totals));
    if (!totals) return NULL;
    for (uint32_t i = 0; i < wanted->objects; i++) totals[found->object_nodes[i]] += wanted->object_weight(wanted->data, i).space;
    for (uint32_t i = 0; i < wanted->blocks; i++) totals[found->block_nodes[i]] += wanted->block_weight(wanted->data, i).space;
    for (uint32_t i = chains->node_count; i-- > HS_TOP_COUNT;) totals[chains->nodes[i].parent] += totals[i];
    return totals;
}

/* Can somebody let go of it? Not of a module, nor of a thread; of a fiber or a binding its local variables are told. */
static bool
one_holder_p(const struct hs_chain_node *node)
{
    if (node->objects != 1 || node->folded) return false;
    switch (BUILTIN_TYPE(node->object)) {
    case T_CLASS:
    case T_MODULE:
    case T_ICLASS:
    case T_IMEMO: return false;
    case T_DATA: return !rb_ractor_p(node->object) && !rb_hs_walk_stack_p(node->object);
    default: return true;
    }
}

/* Among the largest so far, in order. */
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
    double all = 0, *above = rb_hs_arena_map(chains->node_count * sizeof(*above));
    uint32_t count = 0;
    if (!above) return 0;
    for (uint32_t i = 0; i < HS_TOP_COUNT; i++) all += totals[i];
    for (uint32_t i = HS_TOP_COUNT; i < chains->node_count; i++) {
        const struct hs_chain_node *node = &chains->nodes[i];
        above[i] = above[node->parent];
        bool again = above[i] && totals[i] >= above[i] * own_share;
        if (again || totals[i] < all * least_share || !one_holder_p(node)) continue;
        above[i] = totals[i];
        propose(freed, &count, i, totals[i]);
    }
    return count;
}

/* -- how much ----------------------------------------------------------------------------------- */

static void
add(struct hs_freed *sum, struct hs_estimate one)
{
    sum->objects += one.objects;
    sum->space += one.space;
    sum->variance += one.variance;
}

/* A block goes with its object. */
static void
sum_unreached(const struct hs_walk *walk, const struct hs_found *found, struct hs_freed *sum)
{
    const struct hs_wanted *wanted = found->wanted;
    for (uint32_t i = 0; i < wanted->objects; i++) {
        if (found->object_nodes[i] == HS_TOP_NOT_REACHED || hs_walk_reached_p(walk, (VALUE)wanted->object(wanted->data, i))) continue;
        add(sum, wanted->object_weight(wanted->data, i));
    }
    for (uint32_t i = 0; i < wanted->blocks; i++) {
        if (!found->owners[i] || *hs_index_from(&walk->index, found->owners[i])) continue;
        add(sum, wanted->block_weight(wanted->data, i));
    }
}

static void
walk_without(struct hs_walk *walk, const struct hs_chain_node *node)
{
    rb_hs_walk_clear(walk);
    rb_hs_waiters_forget();
    walk->without = node->object;
    rb_hs_roots_walk(walk);
    rb_hs_waiters_settle(walk);
    if (rb_hs_finalizers_settle(walk)) rb_hs_waiters_settle(walk);
}

uint32_t
rb_hs_without(struct hs_chains *chains, const struct hs_found *found, struct hs_freed freed[HS_FREED_MOST], uint64_t until_ns)
{
    struct hs_walk *walk = chains->walk;
    const double *totals = totals_of(chains, found);
    uint32_t count = totals ? choose(chains, totals, freed) : 0, done = 0;
    uint64_t longest = 0;
    walk->each = NULL;
    for (; done < count; done++) {
        uint64_t begun = rb_hs_steady_ns();
        if (begun + longest >= until_ns) break;
        walk_without(walk, &chains->nodes[freed[done].node]);
        freed[done] = (struct hs_freed){.node = freed[done].node};
        sum_unreached(walk, found, &freed[done]);
        uint64_t took = rb_hs_steady_ns() - begun;
        if (took > longest) longest = took;
    }
    return done;
}
