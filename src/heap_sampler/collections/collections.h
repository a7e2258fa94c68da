#ifndef HEAP_SAMPLER_COLLECTIONS_COLLECTIONS_H
#define HEAP_SAMPLER_COLLECTIONS_COLLECTIONS_H
/*
 * The GCs of this process: when each began, how many majors have ended, and what
 * those took that the sampler has asked for.  They are followed from the first
 * one on, sampling or not, and a forked child knows those of its parent.
 *
 *     a GC begins               the next one begins
 *       | marking  | lazy sweeping |
 *       +----------+--...--+--...--+--->
 *                  |               what it took is known: both, as MRI counts them
 *                  a major has ended: what is garbage is known
 */
#include <stdbool.h>
#include <stdint.h>

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

/* The major GCs that the sampler has asked for, and what they took. Plain data. */

/* Why there was one before the last periodic profile, or none. */
enum hs_asked_last {
    HS_ASKED_NONE,              /* no profile was due yet; or a forked child's first is */
    HS_ASKED_ENDED,             /* one was asked for, or marked already and was waited for; its marking is complete */
    HS_ASKED_UNFINISHED,        /* the same, and it still marks */
    HS_ASKED_NOT_NEEDED,        /* one ended by itself since the periodic profile before */
    HS_ASKED_OVER_BUDGET,       /* another would take more than the limit */
    HS_ASKED_NO_SAFE_POINT,     /* Ruby code reached none in time: it waits, or is in a long call */
    HS_ASKED_REFUSED            /* GC is disabled, or major GCs are */
};

struct hs_asked_gcs {
    uint32_t limit_ppm;         /* of the time, in millionths; 0: none is ever asked for */
    uint32_t count;
    uint64_t ns;                /* CPU time that they took */
    uint64_t of_ns;             /* time since the first periodic profile could have been waited for */
    enum hs_asked_last last;
};

/* The times are Unix time, in nanoseconds, reckoned back from now. [tables] */
void rb_hs_gc_times_copy(struct hs_gc_times *copy);

/* Slots of all heaps: those in use, or all that there are. [any] */
uint64_t rb_hs_slots(bool live);
/* The marking of a GC is complete. [gc] */
void rb_hs_gc_mark_ended(bool full_mark);
/* Of how many majors it ever was. [any] */
uint64_t rb_hs_majors_ended(void);

/* -- asking for a major ------------------------------------------------------------ */

/* From now on they may take so much of the time. What they took so far stays, but in a child that has just been forked.
 * [free] */
void rb_hs_asked_limit(uint32_t ppm);
void rb_hs_asked_forget(void);
/* Would another one, which takes what the last major took or about that, be within the limit? [free] */
bool rb_hs_asked_affordable_p(void);
/* Begins one, or joins one that marks already. false: it is refused. [gvl] [free] */
bool rb_hs_asked_begin(uint32_t step_slots);
/* [free] */
void rb_hs_asked_note(enum hs_asked_last last);
/* [tables] */
struct hs_asked_gcs rb_hs_asked_gcs(void);

#endif
