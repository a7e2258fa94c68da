#ifndef HEAP_SAMPLER_SAMPLING_GC_LOG_H
#define HEAP_SAMPLER_SAMPLING_GC_LOG_H
/*
 * A bounded record of all GCs of this process: what each was for, what it took, and what it left.
 *
 *     entry     [ 1-8 ] [ 9-12 ] [13] [14-31] ...  [97] [98] [99]      <- the newest: a GC each
 *     time    --|-------|--------|----|-------...--|----|----|-->
 *
 * When there is no room, neighbours among the older entries become one, which has the sums of both, and the state that the
 * later one left.  Two are joined where both together last no longer than a step, HS_GC_LOG_STEPS of which are the time
 * that the older ones cover.  So no GC is lost, and entries are spread evenly over time, except where many GCs follow at once.
 *
 * MRI measures the CPU time of marking and sweeping.  A pause is real time: from where Ruby enters the GC, with the GVL, to
 * where it leaves it.  Lazy sweeping and incremental marking have a pause for each step.
 *
 * No MRI header.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
    HS_GC_LOG = 256,
    HS_GC_LOG_NEWEST = 64,      /* are never joined */
    HS_GC_LOG_STEPS = 60
};

/* Why there was a GC, in the order in which MRI checks the reasons; from HS_GC_NOFREE on of major GCs. */
enum hs_gc_reason {
    HS_GC_NEWOBJ,               /* a heap has no free slot */
    HS_GC_MALLOC,               /* malloc_increase is above its limit */
    HS_GC_METHOD,               /* GC.start(full_mark: false) */
    HS_GC_CAPI,                 /* C code */
    HS_GC_STRESS,
    HS_GC_NOFREE,               /* too few slots are free after a minor GC */
    HS_GC_OLDGEN,               /* more old objects than their limit */
    HS_GC_SHADY,                /* more objects without write barrier than their limit */
    HS_GC_OLDMALLOC,            /* oldmalloc_increase is above its limit */
    HS_GC_FORCE,                /* GC.start, GC.compact, or C code */
    HS_GC_SAMPLER,              /* periodic profiles and clients of the socket */
    HS_GC_REASONS
};

struct hs_gc_entry {
    uint64_t ns;                /* when the first began: of any clock that does not go back */
    uint32_t gc;                /* the GC count from the last on */
    uint32_t gcs, majors;       /* GCs in it, and how many of them are major ones */
    uint32_t reason;            /* of the longest GC */
    uint64_t took_ns;           /* CPU time of that one */
    uint64_t mark_ns, sweep_ns; /* CPU time of all; 0: not measured */
    uint64_t pause_ns;          /* the longest pause */
    uint64_t allocated;         /* objects since the GC before */
    uint64_t promoted;          /* objects that minor GCs made old; of a major GC it is not known */
    uint64_t pages;             /* heap pages, and */
    uint64_t free_slots;        /* slots that were free, after the last, until the next began; 0: it still marks */
    uint64_t old_objects;       /* that it left */
};

struct hs_gc_cause {
    uint64_t gcs, ns, pause_ns;         /* CPU time of all; the longest pause */
};

struct hs_gc_log {
    uint32_t count;
    bool inherited;             /* the last entry is of the parent: it counts for no reason */
    struct hs_gc_entry list[HS_GC_LOG];         /* by time */
    struct hs_gc_cause causes[HS_GC_REASONS];   /* of all GCs since the process began, or was forked */
};
_Static_assert(sizeof(struct hs_gc_log) <= 64 << 10, "the record is bounded");

/* Tested alone. */
void rb_hs_gc_log_add(struct hs_gc_log *log, const struct hs_gc_entry *entry);
/* The last entry, a single GC, is complete: it counts for its reason. Tested alone. */
void rb_hs_gc_log_finish(struct hs_gc_log *log);
/* The process begins, or a forked child: the reasons have no GCs yet. Tested alone. */
void rb_hs_gc_log_begin(struct hs_gc_log *log);

#endif
