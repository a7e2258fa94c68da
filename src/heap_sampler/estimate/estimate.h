#ifndef HEAP_SAMPLER_ESTIMATE_ESTIMATE_H
#define HEAP_SAMPLER_ESTIMATE_ESTIMATE_H
/* Sums over samples. No MRI header; tested alone. [malloc] */
#include <stdint.h>

/* An estimate of one quantity over the samples behind it.  Every sample of
 * weight w and size S adds 1, w, w*S and w*(w-1)*S*S: the last sums to the
 * variance of `space` under Poisson (Bernoulli) sampling; see doc/estimates.md. */
struct hs_estimate {
    uint64_t samples;
    double objects;
    double space;               /* bytes */
    double variance;            /* of space, bytes squared */
};
void rb_hs_estimate_add(struct hs_estimate *sum, const struct hs_estimate *more);

/* What one sample of `size` bytes, taken at `interval`, stands for. */
struct hs_estimate rb_hs_estimate_one(uint64_t size, uint64_t interval);

#endif
