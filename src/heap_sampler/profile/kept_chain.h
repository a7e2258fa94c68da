#ifndef HEAP_SAMPLER_PROFILE_KEPT_CHAIN_H
#define HEAP_SAMPLER_PROFILE_KEPT_CHAIN_H
/* The names of references, from the root to a node of the holders, as JSON. */
#include "heap_sampler/profile/profile.h"

struct hs_buffer;

/* The root first, without brackets; of a very long chain its end. [any] */
void rb_hs_append_chain(struct hs_buffer *out, const struct hs_profile *profile, uint32_t node);

#endif
