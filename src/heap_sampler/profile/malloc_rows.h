#ifndef HEAP_SAMPLER_PROFILE_MALLOC_ROWS_H
#define HEAP_SAMPLER_PROFILE_MALLOC_ROWS_H
/*
 * The malloc side of a profile: what a session knows of malloc's blocks, as
 * rows, with native frames named and with what of the blocks is resident.
 */
#include <stdbool.h>
#include "heap_sampler/kernel.h"
#include "heap_sampler/profile/profile.h"

/* Adds to a profile whose texts, frames and nodes are those that were there
 * when `copy` was made, with more texts behind them.  labels + n is the text of label set n.  [any] [free]
 * False: no memory. */
bool rb_hs_malloc_rows_add(struct hs_malloc_copy *copy, const struct hs_yjit_memory *yjit, uint32_t labels, struct hs_profile *profile);

#endif
