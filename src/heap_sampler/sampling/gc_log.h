#ifndef HEAP_SAMPLER_SAMPLING_GC_LOG_H
#define HEAP_SAMPLER_SAMPLING_GC_LOG_H
/*
 * A bounded record of all GCs of this process: what each was for, what it took, and what it left.
 *
 * When there is no room, neighbours among the older entries become one, which has the sums of both, and the state that the
 * later one left.  Two are joined if both together last no longer than a step; the older entries cover HS_GC_LOG_STEPS
 * steps.  So no GC is lost, and entries are spread evenly over time, except where many GCs follow at once.
 *
 * A pause is real time, from where Ruby enters the GC to where it leaves it: for each step of lazy sweeping, too.
 */
#include <stdint.h>

enum {
    HS_GC_LOG = 256,
    HS_GC_LOG_NEWEST = 64,      /* are never joined */
    HS_GC_LOG_STEPS = 60
};

/* Why there was a GC: numbers of GC.log in doc/heap_sampler.proto. These are the last, and how many there are. */
enum { HS_GC_SAMPLER = 10,
       HS_GC_REASONS };

struct hs_gc_entry {
    uint64_t ns;                /* when the first began: of any clock that does not go back */
    uint32_t gc, gcs, majors;   /* the GC count from the last on; GCs in it, and how many of them are major ones */
    uint32_t reason;            /* of the longest GC, and */
    uint64_t took_ns;           /* its CPU time */
    uint64_t mark_ns, sweep_ns, pause_ns;       /* CPU time of all, 0: not measured; the longest pause */
    uint64_t allocated;         /* objects since the GC before */
    uint64_t promoted;          /* objects that minor GCs made old; of a major GC it is not known */
    uint64_t pages, free_slots, old_objects;    /* after the last; free slots until the next began, 0: it still marks */
};

struct hs_gc_log {
    uint32_t count, inherited;  /* entries; not 0: the last is of the parent, and counts for no reason */
    struct hs_gc_entry list[HS_GC_LOG];         /* by time */
    struct hs_gc_cause {
        uint64_t gcs, ns, pause_ns;     /* CPU time of all; the longest pause */
    } causes[HS_GC_REASONS];    /* of all GCs since the process began, or was forked */
};
_Static_assert(sizeof(struct hs_gc_log) <= 64 << 10, "the record is bounded");

/* Tested alone. */
void rb_hs_gc_log_add(struct hs_gc_log *log, const struct hs_gc_entry *entry);
/* The last entry, a single GC, is complete: it counts for its reason. Tested alone. */
void rb_hs_gc_log_finish(struct hs_gc_log *log);

#endif
