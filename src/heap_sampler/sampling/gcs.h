#ifndef HEAP_SAMPLER_SAMPLING_GCS_H
#define HEAP_SAMPLER_SAMPLING_GCS_H
/*
 * The GCs of this process: when each began, how full heap pages are after it, and what the sampler has forced on the
 * program, heap walks included.  GCs are followed from the first one on, sampling or not, and a forked child knows those
 * of its parent.
 *
 *     a GC begins               the next one begins
 *       | marking  | lazy sweeping |
 *       +----------+--...--+--...--+--->
 *                  |               what it took is known: both, as MRI counts them
 *                  a major has ended: what is garbage is known
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/sampling/gc_log.h"

/* -- when GCs began ------------------------------------------------------------------ */

/*
 * A row has the GC count of an allocation; this list has the time of it.
 *
 *     gc      1   2   3        7        12   13  14  15     <- the newest: all of them
 *     time  --|---|---|--------|---------|----|---|---|-->
 *                              \ of the older ones, some
 *
 * When there is no room for another, the older ones are thinned: one goes where its neighbours are no further apart
 * than a step, HS_GC_TIMES_STEPS of which are the time that the older ones cover.  So two that are left next to each
 * other either had no GC between them, or are no more than a step apart.  Each has the number of major GCs that had
 * begun, so that the majors among those which went are still counted.  The start of a GC is noted and not its end,
 * since the count of GCs goes up there, and incremental marking may take long.
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

/* Tested alone. */
void rb_hs_gc_times_add(struct hs_gc_times *times, const struct hs_gc_time *begun);
/* The times are Unix time, in nanoseconds, reckoned back from now. [tables] */
void rb_hs_gc_times_copy(struct hs_gc_times *copy);

/* All GCs so far, the present one included; as above. [tables] */
void rb_hs_gc_log_copy(struct hs_gc_log *copy);

/* Slots of all heaps: live ones, or all that there are. [any] */
uint64_t rb_hs_slots(bool live);
/* The marking of a GC is complete. [gc] [write] */
void rb_hs_gc_mark_ended(bool full_mark);
/* The marks that were completed. */
struct hs_marks {
    uint32_t count;
    uint64_t minor_ns, major_ns;        /* Unix time of the last, 0: none */
    uint64_t major_gc;          /* the GC count of that major one */
};
/* [read] */
const struct hs_marks *rb_hs_marks(void);
/* How many majors have ever ended. [any] */
uint64_t rb_hs_majors_ended(void);

/* -- free memory of heap pages -------------------------------------------------------- */

/*
 * A heap page can be given back only when nothing lives on it.  So its free slots are charged to the objects alive on it,
 * in equal parts:
 *
 *     page of 8 slots     A . . . B . . .        6 free slots: 3 for A, 3 for B
 *
 * Each object alive is a sample with its own chance p = 1/w.  So w * free/alive
 * of the samples of a line is an unbiased estimate of what the line holds.  Its
 * variance is w(w-1)(free/alive)^2 for each sample.
 *
 * Alive is what the last mark found alive, and free is all else on the page.  What is allocated there since is young.  So
 * the figures do not go up and down with every sweep.
 *
 * A full mark clears all pins when it begins, and says what must not be moved.  MRI notes pins only before a
 * compaction; with sampling on, the patch gc-note-pins notes them always.  Pins that a minor mark adds wait for the
 * next full one.  Until then such an object counts as movable.  Compaction may also move an object to another heap,
 * where its size has changed; then it may empty more pages than the figures say.  What pins an object, only a heap walk
 * finds out.
 */

/* How full the pages of one of the VM's heaps are, as the last major GC, or compaction, left it. */
struct hs_heap_use {
    bool known;                 /* false: no major GC has looked */
    uint64_t pages;             /* with at least one living object */
    uint64_t pinned_pages;      /* of these, with an object that must not be moved */
    uint64_t live_slots;
    uint64_t free_slots;        /* of these pages */
};

/* How many of the pages would be empty if all that can be moved stood as close together as it can: compaction empties no
 * more, as long as each object stays in its heap. [any] */
static inline uint64_t
hs_heap_spare_pages(const struct hs_heap_use *use)
{
    uint64_t slots = use->live_slots + use->free_slots;
    if (!slots) return 0;
    /* Pages of a heap differ by a slot at most. */
    uint64_t needed = (use->live_slots * use->pages + slots - 1) / slots;
    if (needed < use->pinned_pages) needed = use->pinned_pages;
    return needed < use->pages ? use->pages - needed : 0;
}

/* Looks at all pages after a mark, when records of freed objects are gone; `moved`: after compaction. [write] [gc] */
void rb_hs_occupancy_look(bool moved, bool full_mark);
/* Of a heap. [read] */
const struct hs_heap_use *rb_hs_heap_use(uint32_t heap);

/* -- forced work --------------------------------------------------------------------- */

/*
 * When a share of the run time pays for work that is forced on the program.
 *
 *     spent by GCs and walks + price of the next  <=  share * run time
 *
 * There is one account for the periodic profiles and all clients, each with a share of its own.  So all together never
 * take more than the largest share that was named.  A walk, and a GC that a client demands, begins as soon as all before
 * it are paid for, without its own price.
 *
 * GCs are spread evenly over the life: half of the share is for them, and the other half for walks, each of which costs as
 * much as several GCs.  A GC is due when half of the share, since the last major GC of any kind, pays for it.  So walks do
 * not delay GCs, not even one that took more than was expected.  What GCs have saved makes them twice as frequent at most.
 *
 *     cheap GCs, and savings     the heap is larger: each GC waits until it is paid for
 *     |--|--|--|--|--|--|--|-----|--------|--------|--------|-->
 *
 * GCs spend half of the share at most from any moment on, and walks and clients wait while all together is above the
 * share.  So it is exceeded by the price of the last GC or walk at most.
 *
 * The run time that counts is the last hour: a process that was left alone for
 * days must not be stopped for hours at once.  When work is forced, what is
 * older is forgotten, the time and what was spent in it alike.
 *
 * Tested alone.  Contract: the owner's.
 */

struct hs_budget {
    uint64_t since_ns;          /* of a clock that does not go back */
    double gc_ns, walk_ns;      /* spent since then */
};

/* How long until the share (in millionths) pays for this; 0: it does now. INT64_MAX: never, since the share is 0. */
uint64_t rb_hs_budget_wait(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns);
/* Is a GC due, where the last major GC, or the process, began then? */
bool rb_hs_budget_gc_due_p(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns, uint64_t last_ns);
/* Work was forced: what is older than an hour is forgotten. */
void rb_hs_budget_forget(struct hs_budget *budget, uint64_t now_ns);

/* Why there was a major GC before the last periodic profile, or none. */
enum hs_forced_last {
    HS_FORCED_NONE,             /* no profile was due yet; or a forked child's first is */
    HS_FORCED_ENDED,            /* one was forced, or marked already and was waited for; its marking is complete */
    HS_FORCED_UNFINISHED,       /* the same, and it still marks */
    HS_FORCED_NOT_NEEDED,       /* one ended by itself since the periodic profile before */
    HS_FORCED_OVER_BUDGET,      /* another would take more than the share */
    HS_FORCED_NO_SAFE_POINT,    /* Ruby code reached none in time: it waits, or is in a long call */
    HS_FORCED_REFUSED           /* GC is disabled, or major GCs are; also in place of NONE */
};

/* What periodic profiles and clients of the socket have forced since the process began. A GC or a walk that the program
 * itself runs is not counted. */
struct hs_forced {
    uint32_t gcs, walks;
    uint64_t gc_ns, walk_ns;    /* CPU time that they took; of walks the child's, and the stop for the fork */
    uint64_t stop_ns;           /* the longest time that Ruby code stood still for one of them */
    uint64_t of_ns;             /* time since the process began */
    enum hs_forced_last last;
};

/* The process begins, or a forked child: nothing was forced on it yet. [free] */
void rb_hs_forced_begin(void);
/* [tables] */
struct hs_forced rb_hs_forced(void);

/* Does a share of the run time (in millionths) pay for a major GC now? [free] */
bool rb_hs_forced_gc_due_p(uint32_t ppm);
/* How long until what was forced so far is paid for: then more may be forced on credit. 0: it is. [free] */
uint64_t rb_hs_forced_wait(uint32_t ppm);
/* The same, and a walk in advance. [free] */
uint64_t rb_hs_forced_walk_wait(uint32_t ppm);

/* Begins a major GC, or joins one that marks already; step_slots 0: all of it at once. false: it is refused. [gvl] [free] */
bool rb_hs_forced_gc(uint32_t step_slots);
/* What GC.compact did, or how long it would take. */
struct hs_compaction {
    uint64_t considered, moved; /* objects */
    uint64_t ns;                /* for so long Ruby code stood still; 0: it was not done */
    uint64_t estimate_ns;
};
/* For how long it would stop Ruby code, by the size of the heap, and by the cost of mprotect(2) and the load of the machine
 * now. Takes up to 10 ms. [gvl] [free] */
uint64_t rb_hs_compact_estimate(void);
/* GC.compact. false: it is refused. [gvl] [free] */
bool rb_hs_forced_compact(struct hs_compaction *compaction);
/* A step of its marking. [gvl] [free] */
void rb_hs_forced_gc_step(uint32_t step_slots);
/* A walk took so much CPU time, or without an answer so long, and Ruby code stood still for `stop_ns`. [free] */
void rb_hs_forced_walk(uint64_t ns, uint64_t stop_ns);
/* [free] */
void rb_hs_forced_note(enum hs_forced_last last);

#endif
