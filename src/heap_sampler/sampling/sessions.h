#ifndef HEAP_SAMPLER_SAMPLING_SESSIONS_H
#define HEAP_SAMPLER_SAMPLING_SESSIONS_H
/*
 * Sessions begin, change and end, of slots and of malloc; and what the allocator's hooks read of them.
 *
 * A start, a stop and a new interval of slots run under a VM barrier, and cut all free lists again.  Where the sampler
 * itself makes an interval longer (too many samples, interval=auto) no barrier is needed: each cut remembers the
 * interval at which it was drawn.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/store/store.h"

/* How a session began. It stays when the session ends. [read] */
struct hs_session_start {
    uint64_t serial;            /* of all sessions of this process */
    uint64_t ns;                /* Unix time */
    uint64_t live[HS_HEAPS_MAX];        /* slots, by heap */
};
const struct hs_session_start *rb_hs_session_started(int session);
/* The session in the store of slots. [read] */
const struct hs_session *rb_hs_session(int session);

/* All of it: [gvl] [free]. */
struct hs_session_settings {
    uint64_t interval;
    bool automatic;             /* HS_MAIN only: `interval` is the first of interval=auto */
    uint64_t malloc_interval;   /* 0: malloc is not sampled for it */
    bool malloc_automatic;      /* HS_MAIN only */
    uint32_t thread;
    const struct hs_limits *limits;     /* HS_MAIN only, as long as it is on; NULL: the usual ones */
    bool sow;                   /* the sequence of the limits' seed begins with them */
};
/* The usual limits. [gvl] [free], HS_MAIN is off. */
void rb_hs_session_limits(const struct hs_limits *limits);
/* Returns the session's number, -1: all are taken, -2: no memory. Number
 * HS_MAIN is for the process's own, chosen by `main`. */
int rb_hs_session_start(const struct hs_session_settings *settings, bool main);
/* A listener's session (sampling/listeners.h). false: no memory. */
bool rb_hs_session_listen(int session, uint64_t interval);
void rb_hs_session_stop(int session);
/* false: no memory, the interval is as it was. */
bool rb_hs_session_retune(int session, uint64_t interval, bool automatic);
/* While HS_MAIN is on: from here on. */
void rb_hs_session_limit(const struct hs_limits *limits, bool sow);

/* -- interval=auto and malloc=auto: automatic.c ---------------------------------------- */

/*
 * store/pace.h says how long the interval of the main session is to be; this is when that is asked, and what follows.
 *
 * *Slots*: after some samples, after some free lists, and at the end of each mark.  The interval gets longer at once:
 * lists that are cut remember at which one.  It gets shorter where all lists are cut anew, so that there is no slot that
 * was not drawn at it:
 *
 *     at the end of a mark    the sweep that follows clears every cache before anything is allocated
 *     in a job                at a safe point; there it waits for the other Ractors.  For programs whose GCs are rare
 *
 * *Malloc*: where jemalloc's settings can be changed, which is never inside malloc: where stacks are named (at ends of
 * marks, and in the job that many samples ask for), and in the job of slots.
 */

/* Samples of slots of the main session are free to take what the budget allows, from now on; or no longer. [gvl] */
void rb_hs_automatic(bool on);
bool rb_hs_automatic_p(void);                /* [any] */

/* A free list was installed. [vm] */
void rb_hs_automatic_list(void);
/* Around each sample; `sessions`: those that keep it. [vm]; the second [write] */
uint64_t rb_hs_automatic_sample_begins(void);
void rb_hs_automatic_sample_ends(uint64_t began, hs_session_set sessions);
/* At the end of marking; removing records of freed objects began at this CPU time of the thread. [gc] [write] */
void rb_hs_automatic_at_mark(uint64_t began);

/* The same for samples of malloc. [gvl] */
void rb_hs_malloc_automatic(bool on);
bool rb_hs_malloc_automatic_p(void);         /* [malloc] */
/* Have so many samples been taken that it should be asked? [malloc] */
bool rb_hs_malloc_automatic_due(uint64_t samples);
/* Naming took so much CPU time, ns. [vm] */
void rb_hs_malloc_automatic_work(uint64_t ns);
/* Take the interval that the budget pays for now. [vm] [free] */
void rb_hs_malloc_follow_pace(void);

/* Warn, once in the life of a process, when samples were lost for want of memory. [any] */
void rb_hs_warn_of_gaps(void);

#endif
