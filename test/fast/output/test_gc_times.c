/*
 * The list of when GCs began, over lives of many kinds: it is bounded, has the newest, and what was allocated
 * between two of the list has its time.
 */
#include "tap.h"
#include "heap_sampler/sampling/gcs.h"
#include "heap_sampler/store/draw.h"

#include <math.h>

#define MS UINT64_C(1000000)

static struct hs_random randomness;

static uint64_t
exponential(double mean)
{
    return (uint64_t)(-log(rb_hs_random_unit(&randomness)) * mean);
}

static uint64_t
steady(uint32_t gc)
{
    (void)gc;
    return exponential(100.0 * MS);
}

/* Some are a millisecond apart, some an hour. */
static uint64_t
uneven(uint32_t gc)
{
    (void)gc;
    return exponential(rb_hs_random_unit(&randomness) <= 0.02 ? 3600000.0 * MS : 1.0 * MS);
}

static uint64_t
ever_later(uint32_t gc)
{
    return gc * MS;
}

static uint64_t
at_once(uint32_t gc)
{
    (void)gc;
    return 0;
}

/* Of all there were, `truth`. */
static bool
right_p(const struct hs_gc_times *times, const struct hs_gc_time *truth, uint32_t so_far)
{
    const struct hs_gc_time *list = times->list;
    uint64_t step = (truth[so_far - 1].ns - truth[0].ns) / HS_GC_TIMES_STEPS;
    bool right = times->count <= HS_GC_TIMES && list[0].gc == 1 && list[times->count - 1].gc == so_far;
    for (uint32_t i = 0; right && i < times->count; i++) {
        const struct hs_gc_time *was = &truth[list[i].gc - 1];
        right = was->ns == list[i].ns && was->majors == list[i].majors;
        if (!i) continue;
        uint32_t gcs = list[i].gc - list[i - 1].gc;
        bool newest = times->count - i < HS_GC_TIMES_NEWEST;
        right = right && (gcs == 1 || (gcs > 1 && !newest && list[i].ns - list[i - 1].ns <= step));
    }
    return right;
}

static void
test_life(const char *name, uint64_t (*gap)(uint32_t gc))
{
    enum { GCS = 20000 };
    static struct hs_gc_time truth[GCS];
    struct hs_gc_times times = {0};
    uint64_t now = 5 * MS;
    uint32_t majors = 0, wrong = 0;
    for (uint32_t i = 0; i < GCS; i++) {
        majors += i % 7 == 0;
        truth[i] = (struct hs_gc_time){now += gap(i + 1), i + 1, majors};
        rb_hs_gc_times_add(&times, &truth[i]);
        wrong += !right_p(&times, truth, i + 1);
    }
    ok(!wrong, "times of GCs: %s: %u of %d lists are wrong", name, wrong, GCS);
}

void
test_gc_times(void)
{
    rb_hs_random_seed(&randomness, 11);
    test_life("steady", steady);
    test_life("bursts and hours without one", uneven);
    test_life("ever later", ever_later);
    test_life("all at once", at_once);
}
