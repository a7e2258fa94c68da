/* See sampling/gcs.h. */
#include "heap_sampler/sampling/gcs.h"

#include <string.h>

/* What stays has more than a step from each to the next but one: about twice as many as there are steps. */
_Static_assert(2 * HS_GC_TIMES_STEPS + 2 <= (HS_GC_TIMES - HS_GC_TIMES_NEWEST) / 2, "thinning makes room for many");

static void
thin(struct hs_gc_times *times)
{
    struct hs_gc_time *list = times->list;
    uint32_t older = times->count - HS_GC_TIMES_NEWEST, kept = 1;
    uint64_t step = (list[older - 1].ns - list[0].ns) / HS_GC_TIMES_STEPS;
    for (uint32_t i = 1; i < older; i++) {
        if (list[i + 1].ns - list[kept - 1].ns > step) list[kept++] = list[i];
    }
    memmove(&list[kept], &list[older], HS_GC_TIMES_NEWEST * sizeof(*list));
    times->count = kept + HS_GC_TIMES_NEWEST;
}

void
rb_hs_gc_times_add(struct hs_gc_times *times, const struct hs_gc_time *begun)
{
    if (times->count == HS_GC_TIMES) thin(times);
    times->list[times->count++] = *begun;
}
