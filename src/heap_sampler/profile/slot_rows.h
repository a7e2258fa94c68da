#ifndef HEAP_SAMPLER_PROFILE_SLOT_ROWS_H
#define HEAP_SAMPLER_PROFILE_SLOT_ROWS_H
/* The slot side of a profile: copies of records as rows, and as samples one by one. [any] */
#include <stdbool.h>
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/slot_copies.h"

/* Sorts the copies; each says which row it was added to. labels[n] is the text of label set n. False: no memory. */
bool rb_hs_slot_rows_add(struct hs_slot_copies *copied, const uint32_t *labels, struct hs_profile *profile);
/* Each living sample; after the rows. False: no memory. */
bool rb_hs_live_samples_list(const struct hs_slot_copies *copied, struct hs_profile *profile);

#endif
