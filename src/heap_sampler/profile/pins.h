#ifndef HEAP_SAMPLER_PROFILE_PINS_H
#define HEAP_SAMPLER_PROFILE_PINS_H
/*
 * What pins the objects that hold free memory of heap pages: the answer of a walk
 * (holders/pins.h) with the figures of slots/occupancy.h.  The pins of all
 * objects add up to holds_free_pinned of all rows.
 */
#include <stdbool.h>
#include "heap_sampler/profile/profile.h"
#include "heap_sampler/profile/slot_copies.h"

struct hs_buffer;

/* After the rows and the answer. False: no memory. [any] */
bool rb_hs_pins_add(struct hs_profile *profile, const struct hs_slot_copies *copied);
/* As a member of the JSON object about the walk: doc/format.md. [any] */
void rb_hs_pins_describe(struct hs_buffer *out, const struct hs_profile *profile);

#endif
