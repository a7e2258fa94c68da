#ifndef HEAP_SAMPLER_PROFILE_DELTA_H
#define HEAP_SAMPLER_PROFILE_DELTA_H
/*
 * What has changed between two profiles of one process: the second minus the
 * first, row by row, as Go's ?seconds= has it.  Figures may be negative.
 *
 * Variances, and numbers of samples, are those of what changed.  Objects that were
 * there before can only go, and those that were not can only come; a row has those of one
 * GC.  So the variance of a row's change is the difference of its variances,
 * without its sign.
 *
 * No MRI header; tested alone. [any]
 */
#include "heap_sampler/profile/profile.h"

/* `second` becomes the difference, which begins when `first` was taken. 0, or ENOMEM, EINVAL where a profile leads nowhere,
 * ESTALE where they are not of one sampling: `second` is then good for rb_hs_profile_free() alone. */
int rb_hs_profile_subtract(struct hs_profile *second, const struct hs_profile *first);

#endif
