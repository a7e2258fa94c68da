#ifndef HEAP_SAMPLER_HOLDERS_WITHOUT_H
#define HEAP_SAMPLER_HOLDERS_WITHOUT_H
/*
 * What would be freed if a holder were emptied?  The heap is walked again as if
 * nobody referred to it: samples that are not reached any more would be freed.
 * What two holders keep is freed by neither alone.  Not one reference alone is
 * left out: caches of code have the values of constants, and what runs just now
 * has some in variables, too; who empties a Hash empties it for all of them.
 *
 * Asked for the nodes with the most bytes that stand for one reference: a
 * constant, a variable, a value of one hash.  In the child, after all chains
 * have names, while there is time.
 */
#include "heap_sampler/holders/ask.h"
#include "heap_sampler/holders/chains.h"

/* Where the samples are. */
struct hs_found {
    const struct hs_wanted *wanted;
    const uint32_t *object_nodes, *block_nodes;
    const uint32_t *owners;     /* of blocks: numbers of objects, HS_NO_OBJECT where nobody has one */
};

/* Returns how many of `freed` it has set. */
uint32_t rb_hs_without(struct hs_chains *chains, const struct hs_found *found, struct hs_freed freed[HS_FREED_MOST], uint64_t until_ns);

#endif
