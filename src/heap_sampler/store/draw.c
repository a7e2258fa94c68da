/* See store/draw.h for the model. */
#include "heap_sampler/store/draw.h"

#include <math.h>

static uint64_t
rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) spreads a seed over the
 * state of xoshiro256++ (Blackman and Vigna, ACM TOMS 47, 2021). */
void
rb_hs_random_seed(struct hs_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = z ^ (z >> 31);
    }
}

uint64_t
rb_hs_random_next(struct hs_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double
rb_hs_random_unit(struct hs_random *random)
{
    return (double)((rb_hs_random_next(random) >> 11) + 1) * 0x1p-53;
}

double
rb_hs_weight(double slot_size, double interval)
{
    return -1.0 / expm1(-slot_size / interval);
}

uint32_t
rb_hs_draw(struct hs_random *random, double slot_size, double interval, uint32_t slots)
{
    double rate = slot_size / interval;
    double unit = rb_hs_random_unit(random);

    /* The next sample lies beyond the list when -ln(unit) >= slots * rate.
     * exp(-x) >= 1 - x: most lists are decided without a logarithm. */
    if (unit <= 1.0 - slots * rate) return 0;
    double skipped = floor(-log(unit) / rate);
    return skipped < slots ? (uint32_t)skipped + 1 : 0;
}

/* -- sums ---------------------------------------------------------------------------- */

void
rb_hs_estimate_add(struct hs_estimate *sum, const struct hs_estimate *more)
{
    sum->samples += more->samples;
    sum->objects += more->objects;
    sum->space += more->space;
    sum->variance += more->variance;
}

/* A weight takes an exponential and two divisions, and most sizes are of a few
 * classes: each thread remembers the last results. */
struct hs_estimate
rb_hs_estimate_one(uint64_t size, uint64_t interval)
{
    enum { PLACES = 61 };       /* prime: powers of two fall into different places */
    static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
        uint64_t size, interval;
        struct hs_estimate one;
    } known[PLACES], *place;
    place = &known[size / 8 % PLACES];
    if (place->size != size || place->interval != interval) {
        double bytes = (double)size, weight = rb_hs_weight(bytes, (double)interval);
        place->size = size;
        place->interval = interval;
        place->one = (struct hs_estimate){
            .samples = 1,
            .objects = weight,
            .space = weight * bytes,
            .variance = weight * (weight - 1) * bytes * bytes,
        };
    }
    return place->one;
}
