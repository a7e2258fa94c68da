#ifndef HEAP_SAMPLER_STORE_DRAW_H
#define HEAP_SAMPLER_STORE_DRAW_H
/*
 * Which slots are sampled, and what a sample stands for.
 *
 * Think of the bytes that the allocator hands out as a line.  On it is a
 * Poisson process with one event every T bytes on average.  A slot of S bytes
 * is sampled when at least one event falls into it:
 *
 *     p(S, T) = 1 - exp(-S/T)
 *
 * whatever happened in the slots before.  At T = 512 KiB a slot of 40 bytes is
 * sampled once in 13,108 times, one of 640 bytes once in 820; at T = 1 every
 * slot is (p differs from 1 by less than a double can show).  A sample stands
 * for w = 1/p slots.  With I = 1 if a slot is sampled, else 0, E[I*w] = 1 and
 * Var[I*w] = w - 1 (both are one line of algebra on a Bernoulli variable).  So
 * sums of w and w*S are unbiased.  Their variances are estimated without bias
 * by the sums of w*(w-1) and w*(w-1)*S*S over the samples taken.
 *
 * The allocator does not ask for each slot.  It knows how many slots the free
 * list before it has, and asks once how many slots there are up to and
 * including the next sampled one: G = 1 + floor(E/(S/T)), where E is an
 * exponential variable of mean 1.  G is geometric with parameter p.  Since it
 * has no memory, a list that is given back half used needs no book-keeping:
 * the next list gets a fresh draw.
 *
 * No MRI header; tested alone.  Contract: the owner's of the
 * generator; nothing here locks.
 */
#include <stdint.h>

struct hs_random {
    uint64_t state[4];
};

/* The same seed gives the same sequence, on every machine. */
void rb_hs_random_seed(struct hs_random *random, uint64_t seed);
uint64_t rb_hs_random_next(struct hs_random *random);
/* Uniform in (0, 1]; 53 bits. */
double rb_hs_random_unit(struct hs_random *random);

/* 1/p(S, T); both in bytes. */
double rb_hs_weight(double slot_size, double interval);

/* How many slots up to and including the next sampled one, if that is among
 * the next `slots` slots of this size; else 0. */
uint32_t rb_hs_draw(struct hs_random *random, double slot_size, double interval, uint32_t slots);

/* Sums over samples. No MRI header; tested alone. [malloc] */

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
