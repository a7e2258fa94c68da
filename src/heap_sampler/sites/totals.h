#ifndef HEAP_SAMPLER_SITES_TOTALS_H
#define HEAP_SAMPLER_SITES_TOTALS_H
/* What was born and has died at one place. No MRI header; no lock. */
#include <stdint.h>
#include "heap_sampler/estimate/estimate.h"

/* What a session has seen of a site since it began. */
struct hs_totals {
    struct hs_estimate alloc, dead;
    double dead_gcs;
};

/* Adds one to the other. */
void rb_hs_totals_add(struct hs_totals *sum, const struct hs_totals *more);

/* Which of the dead keep their names when others are folded: those that have
 * allocated most often, since they will again. */
struct hs_spared {
    uint32_t by_bits[65];
};     /* how many have so many significant bits in their number of samples */
void rb_hs_spared_count(struct hs_spared *spared, uint64_t samples);
/* The least number of samples that spares one, if `room` may be spared; never
 * 1, or none would be folded. UINT64_MAX: none is. */
uint64_t rb_hs_spared_from(const struct hs_spared *spared, uint32_t room);

#endif
