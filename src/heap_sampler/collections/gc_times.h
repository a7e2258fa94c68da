#ifndef HEAP_SAMPLER_COLLECTIONS_GC_TIMES_H
#define HEAP_SAMPLER_COLLECTIONS_GC_TIMES_H
/*
 * When the GCs of this process began: so that a birth, of which a row tells the
 * GC count, has a time.
 *
 *     gc      1   2   3        7        12   13  14  15     <- the newest: all of them
 *     time  --|---|---|--------|---------|----|---|---|-->
 *                              \ of the older ones, some
 *
 * There are at most HS_GC_TIMES of them.  When there is no room for another, the
 * older ones are thinned: one goes where its neighbours are no further apart than
 * a step, HS_GC_TIMES_STEPS of which are the time that the older ones cover.  So two
 * that are left next to each other either had no GC between them, or are no more
 * than a step apart: what was born in between has its time to within that.  Each
 * says how many major GCs had begun, so that the majors among those which went
 * are still counted.
 *
 * No MRI header; tested alone.  Contract: the owner's.
 */
#include <stdint.h>

enum {
    HS_GC_TIMES = 384,
    HS_GC_TIMES_NEWEST = 128,   /* are never thinned */
    HS_GC_TIMES_STEPS = 60
};

struct hs_gc_time {
    uint64_t ns;                /* when it began: of any clock that does not go back */
    uint32_t gc;                /* the GC count from then on */
    uint32_t majors;            /* that have begun, this one included */
};

struct hs_gc_times {
    uint32_t count;
    struct hs_gc_time list[HS_GC_TIMES];        /* by time */
};

void rb_hs_gc_times_add(struct hs_gc_times *times, const struct hs_gc_time *begun);

#endif
