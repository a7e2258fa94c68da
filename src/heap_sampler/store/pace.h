#ifndef HEAP_SAMPLER_STORE_PACE_H
#define HEAP_SAMPLER_STORE_PACE_H
/*
 * interval=auto: how long the interval is to be, so that samples cost what a
 * budget allows.  It begins at 512 KiB, which is never made longer here, and gets
 * as short as the budget pays for, down to 16 KiB.
 *
 * The budget is a share of the CPU time of the process; one that idles earns as
 * if it used a fifth of a processor.  What was earned and not spent is saved, up
 * to what a second of CPU time earns, and so are debts; but not at 512 KiB.
 *
 *     savings gone, and samples of the window cost more than it earned
 *         longer, at once: so many times as their cost was too high
 *     savings there, and samples would still cost less if there were twice as many, or four times, …
 *         shorter, so many times; there are taken to be as many samples as chance may have hidden
 *
 * The *window* is the time since the interval changed, or the last quarter of a
 * second of CPU time.  It is a twentieth of a second at least before the interval
 * gets shorter.  So a change, which has all free lists cut anew, comes 20 times a
 * second of CPU time at most.
 *
 * Memory bounds it as well: the more the samples hold, the longer is the shortest
 * interval, up to 512 KiB.  Samples that are held stay what they are.
 *
 * Estimates stay unbiased (doc/estimates.md): what is decided here follows from
 * samples that were taken, and holds for what is drawn after it.
 *
 * No MRI header; tested alone.  Contract: the owner's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes. It begins with the longest: the first samples of a process, whose stacks are all new, cost several times as much
 * as later ones. */
#define HS_PACE_LONGEST (UINT64_C(512) << 10)
#define HS_PACE_SHORTEST (UINT64_C(16) << 10)

/* The share of the CPU time that samples of malloc may cost. Samples of slots may cost as much, and what malloc
 * leaves of its. */
#define HS_PACE_BUDGET 0.001
/* What samples may hold, bytes: of slots and malloc together. From half of it on the shortest interval gets longer. */
#define HS_PACE_BYTES ((size_t)4 << 20)

struct hs_pace_time {
    uint64_t cpu_ns, steady_ns;
};

struct hs_pace {
    double budget;              /* share of the CPU time */
    double sample_ns;           /* what a sample costs: a running mean */
    uint32_t timed;             /* samples that it is the mean of */
    struct hs_pace_time last;   /* when it was asked last */
    double saved_ns;            /* earned, and not spent */
    double window_ns;
    uint64_t samples, counted;  /* in the window; of these, paid for */
    double work_ns;             /* in the window: what samples cost that are held */
    double share;               /* of the CPU time: what samples cost in the last long window */
    bool eager;                 /* it would get shorter, had it been allowed to */
    uint64_t capped_at, thinnings;      /* the interval where the cap has thinned, and how often it has */
};

void rb_hs_pace_begin(struct hs_pace *pace, double sample_ns, struct hs_pace_time now);
/* A sample took so long. One that was interrupted counts as ten. */
void rb_hs_pace_cost(struct hs_pace *pace, double ns);
/* Samples that are held took so long, in a mark or until they had names. */
void rb_hs_pace_work(struct hs_pace *pace, double ns);
/* The shortest interval where samples hold so much. */
uint64_t rb_hs_pace_shortest(size_t bytes);
/* The shortest where the cap has thinned so often, too: a shorter one would only bring it to thin again. */
uint64_t rb_hs_pace_least(struct hs_pace *pace, size_t bytes, uint64_t interval, uint64_t thinnings);
/* How long the interval is from now on, and `least` at least. Where it cannot get shorter now, `eager` says that it would. */
uint64_t rb_hs_pace_next(struct hs_pace *pace, uint64_t interval, struct hs_pace_time now, uint64_t least, bool may_get_shorter);

#endif
