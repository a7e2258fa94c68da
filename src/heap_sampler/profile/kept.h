#ifndef HEAP_SAMPLER_PROFILE_KEPT_H
#define HEAP_SAMPLER_PROFILE_KEPT_H
/*
 * Who keeps what, in a profile: the samples of each row by the node of the
 * chain that they are reached on (holders/chains.h).  The parts of a row add up
 * to its `inuse` and `young`.  [any]
 */
#include <stdbool.h>
#include "heap_sampler/profile/profile.h"

/* Room for so many samples. False: no memory. */
bool rb_hs_kept_begin(struct hs_profile *profile, size_t samples);
/* One sample. */
void rb_hs_kept_add(struct hs_profile *profile, size_t row, uint32_t node, const struct hs_estimate *one);
/* All were added: those of one row and node become one, and the profile has the names of the nodes. False: no memory. */
bool rb_hs_kept_end(struct hs_profile *profile);
/* The profile says of itself who was asked, what it cost, or why there is no answer. False: no memory. */
bool rb_hs_kept_describe(struct hs_profile *profile);

#endif
