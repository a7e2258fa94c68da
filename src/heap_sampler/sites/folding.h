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
 * When there are too many names (stacks/stack_table.h), those that no node and no site
 * refers to go.  Where that is not enough, what only totals refer to is folded,
 * at last without its lines and classes.
 *
 * This file knows the tree of nodes and the sites.  Who else refers to them by
 * number registers here and takes the new numbers.
 *
 * [write]
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/labels/label_sets.h"

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

/* No session is left: what only their totals referred to goes with its names, unless these are few. */
void rb_hs_forget_the_dead(void);

/* used[number] is set for each label set that a living sample has. */
void rb_hs_sites_see_labels(bool used[HS_LABEL_NUMBERS]);
/* Sites with other sets get HS_LABELS_OTHER. Numbers of sites change. false: no memory, and nothing has changed. */
bool rb_hs_sites_keep_labels(const bool used[HS_LABEL_NUMBERS]);

/* Before a stack of so many frames is resolved: room for its nodes, for the
 * codes of its frames and for names. Numbers of sites, nodes, frames, classes
 * and texts may change: whoever holds one asks again. [vm] [free] */
void rb_hs_make_room_for_stack(uint32_t depth);

#endif
