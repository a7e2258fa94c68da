/* See estimate/estimate.h. */
#include "heap_sampler/estimate/estimate.h"
#include "heap_sampler/estimate/draw.h"

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
