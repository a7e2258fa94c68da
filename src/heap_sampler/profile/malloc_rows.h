#ifndef HEAP_SAMPLER_PROFILE_MALLOC_ROWS_H
#define HEAP_SAMPLER_PROFILE_MALLOC_ROWS_H
/*
 * The malloc side of a profile: what a session knows of malloc's blocks, as
 * rows, with native frames named and with what of the blocks is resident.
 */
#include <stdbool.h>
#include "heap_sampler/account/account.h"
#include "heap_sampler/malloc/table.h"
#include "heap_sampler/malloc/yjit.h"
#include "heap_sampler/profile/profile.h"

/* Adds to a profile whose texts, frames and nodes are those that were there
 * when `copy` was made, with more texts behind them.  labels + n is the text of label set n.  [any] [free]
 * False: no memory. */
bool rb_hs_malloc_rows_add(struct hs_malloc_copy *copy, const struct hs_yjit_memory *yjit, uint32_t labels, struct hs_profile *profile);
/* For an account of the process: what sampling adds to jemalloc's figures, and
 * what of malloc's blocks was never touched. [any] [free] */
void rb_hs_malloc_look(struct hs_account_excess *excess);
/* The same where a profile has been made just now, of which the rows are. [any] */
void rb_hs_malloc_look_at(struct hs_account_excess *excess, const struct hs_profile *profile);

#endif
