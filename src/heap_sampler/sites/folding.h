#ifndef HEAP_SAMPLER_SITES_FOLDING_H
#define HEAP_SAMPLER_SITES_FOLDING_H
/*
 * Sites and stacks would pile up in a process that runs for months.  When there
 * are too many, those without a live sample are folded: their totals go to the
 * site of their leaf frame alone, below `(evicted)`, and the stacks that nobody
 * uses any more are forgotten.  So totals by line, method, class and type stay
 * whole, and memory stays bounded.  Those that have allocated most often are
 * spared, since they will allocate again.
 *
 * This file knows the tree of nodes and the sites.  Who else refers to them by
 * number registers here and takes the new numbers.
 *
 * [write]
 */
#include <stdbool.h>
#include <stdint.h>

/* Refers to sites: slots. */
struct hs_user_of_sites {
    void (*see)(bool *alive);                   /* set alive[site] for each that a sample refers to */
    void (*renumber)(const uint32_t *new_site);
};
/* Refers to nodes: malloc. */
struct hs_user_of_nodes {
    void (*begin)(bool *keep, bool spare);      /* set keep[node] for each that stays */
    void (*end)(const uint32_t *new_node);
    void (*forget_addresses)(void);             /* raw stacks are not found by addresses any more */
};
/* For as long as the process lives. */
void rb_hs_folding_used_by_sites(const struct hs_user_of_sites *user);
void rb_hs_folding_used_by_nodes(const struct hs_user_of_nodes *user);

/* Fold what has no live sample, unless that was done just before. Numbers of
 * sites and nodes change: whoever holds one asks again. Without memory nothing
 * happens. */
void rb_hs_fold_sites(void);
/* Have the living filled the table, or most of it, so that folding does not
 * help?  Asking takes the answer: no, until that happens again. */
bool rb_hs_take_sites_full(void);

/* Before a stack of so many frames is resolved: room for its nodes, and for the
 * codes of its frames. [vm] [free] */
void rb_hs_make_room_for_stack(uint32_t depth);

#endif
