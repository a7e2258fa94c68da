#ifndef HEAP_SAMPLER_STORE_FOLDING_H
#define HEAP_SAMPLER_STORE_FOLDING_H
/*
 * Sites and stacks would pile up in a process that runs for months.  When there
 * are too many, those without a live sample are folded: their totals go to the
 * site of their leaf frame alone, below `(evicted)`, and the stacks that no site
 * uses any more are forgotten.  So totals by line, method, class and type stay
 * whole, and memory stays bounded.  Sites that have allocated most often are
 * spared, since they will allocate again.
 *
 *     slots are full      sites of both stores are folded, and the tree
 *     malloc is full      sites of malloc
 *     names are full      names without a node and a site are freed; where that is not enough, sites of both stores
 *                         are folded, at last without their lines and classes
 *
 * All that gives sites other numbers is done here: folding, and naming raw stacks of malloc.
 *
 * [write]
 */
#include <stdbool.h>
#include <stdint.h>

/* Fold what has no live sample, unless that was done just before. Numbers of sites and nodes change: the caller asks for
 * its own again. Without memory nothing happens. */
void rb_hs_fold_slots(void);
/* Sites of malloc, if they are too many; `anyway`: for a test. [vm] [free] */
void rb_hs_fold_blocks(bool anyway);
/* The raw stacks of malloc that were named: sites that are the same become one. [vm] */
void rb_hs_join_blocks(void);

/* No session is left: what only their totals referred to goes with its names, unless these are few. */
void rb_hs_forget_the_dead(void);

/* Before a stack of so many frames is resolved: room for its nodes, codes and names. Numbers of sites, nodes, frames,
 * classes and texts may change: the caller asks for its own again. [vm] [free] */
void rb_hs_make_room_for_stack(uint32_t depth);

#endif
