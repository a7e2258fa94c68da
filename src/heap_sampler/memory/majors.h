#ifndef HEAP_SAMPLER_MEMORY_MAJORS_H
#define HEAP_SAMPLER_MEMORY_MAJORS_H
/*
 * The major GCs of this process, with what each of them left alive: exact counts, from which a reader decides whether the
 * process leaks.  The GC itself records them, so GCs of all Ractors are in the list.  It covers the time during which
 * something was sampled, or the process stood by.  A forked child continues its parent's list.
 *
 *     a major GC begins
 *       | marking  | lazy sweeping |
 *       +----------+--...--+--...--+--->
 *                  |               malloc's bytes: the freed objects have freed their memory
 *                  a point is added: time, objects allocated, slots alive
 *
 * Slots are counted by mark bits at the end of marking.  MRI's counters of allocated and freed objects would need the
 * end of the sweep.  They are wrong where the sweep moves objects to another heap, and after several Ractors have
 * counted without a lock.  Malloc's bytes are read after the sweep, and not each time: reading takes jemalloc 25 us
 * with one arena and 0.9 ms with nine, and glibc 25 ms with 100,000 free blocks.
 *
 * The newest points stay (32 of 128).  Of the older ones each n-th stays, from the first one on; n doubles when there
 * are too many.  Halving the oldest alone would leave too few points of the early life.
 *
 *     major   0   4   8   12  16  20  22  24  25  26  27
 *             \   each fourth  /          \ the newest: all
 *
 * No MRI header.
 */
#include "heap_sampler/kernel.h"

enum { HS_MAJORS = 128,
       HS_MAJORS_NEWEST = 32 };

struct hs_major {
    uint64_t ns;                /* when its marking was complete: of any clock that does not go back */
    uint64_t objects;           /* that had been allocated by then */
    uint64_t malloc;            /* bytes allocated from malloc(3) after its sweep, except the sampler's; 0: not known */
    uint32_t gc;                /* its GC count */
    uint32_t slots[HS_HEAPS_MAX];       /* alive after its marking, by heap */
};

struct hs_majors {
    uint32_t count, older;      /* points; of these, not among the newest */
    uint32_t step;              /* each so many of the older ones are there; 0: 1 */
    uint64_t added;             /* points ever */
    struct hs_major list[HS_MAJORS];
};

/* Tested alone. */
void rb_hs_majors_add(struct hs_majors *majors, const struct hs_major *major);
/* The times are Unix time, in nanoseconds, calculated back from now. [tables] */
void rb_hs_majors_copy(struct hs_majors *copy);
/* Does memory rise?  The least that was alive in the last quarter of the points is more by a 32nd than the most in the second
 * quarter, and up to `since_ns`; and all of the last quarter is later than that. Tested alone. */
bool rb_hs_majors_rise_p(const struct hs_majors *majors, uint64_t since_ns);
bool rb_hs_memory_rises_p(uint64_t since_ns);   /* by rb_hs_steady_ns(). [free] */

#endif
