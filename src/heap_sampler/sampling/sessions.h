#ifndef HEAP_SAMPLER_SAMPLING_SESSIONS_H
#define HEAP_SAMPLER_SAMPLING_SESSIONS_H
/* Sessions begin, change and end, of slots and of malloc. */
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
/* Warn, once in the life of a process, when samples were lost for want of memory. [any] */
void rb_hs_warn_of_gaps(void);

#endif
