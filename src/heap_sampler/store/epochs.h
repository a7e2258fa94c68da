#ifndef HEAP_SAMPLER_STORE_EPOCHS_H
#define HEAP_SAMPLER_STORE_EPOCHS_H
/*
 * At which intervals is a record a sample?
 *
 * A thing of S bytes that was drawn at interval D gets a number of its own, its
 * *longest* interval: it is a sample at each T up to that one.  With u uniform
 * in (0, 1],
 *
 *     longest = -S / ln(1 - u * p(S, D))      so that      P(longest >= T) = p(S, T) / p(S, D)
 *
 * This one number decides for all sessions, at the allocation and each time an interval
 * gets longer.  So each session's samples are as if it were alone.  Samples of a long
 * interval are among the samples of a shorter one, and no chance is taken twice.
 *
 * What the number allows is one thing, what a session asked for another: it
 * keeps a record *at* an interval, which says what the record stands for.  The
 * intervals of all sessions are an epoch, which many records share:
 *
 *     time ------------------------------------------------------------>
 *     T of the session        64k        | 1k           | 2k (the cap)
 *     drawn at 64k            kept at 64k, and so on: a finer T changes nothing
 *     drawn at 1k                          kept at 1k   | at 2k, or dropped
 *
 * The interval that a session keeps a record at only ever gets longer.
 *
 * No MRI header; tested alone.  It knows nothing of slots: malloc's blocks may
 * have epochs of their own.  Contract: the owner's.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/base/memory.h"
#include "heap_sampler/store/draw.h"

/* Users of samples: profiles, and listeners (sampling/listeners.h), each at an interval of its own. */
enum { HS_SESSIONS = 16,        /* bits of a record's sessions */
       HS_PROFILES = 8 };       /* the first of them; the others are listeners' */
typedef uint16_t hs_session_set;        /* bit s: session s */
#define HS_LISTENERS ((hs_session_set)(0xffffu << HS_PROFILES))

/* Bytes: the longest interval that there is. */
#define HS_INTERVAL_MAX (UINT64_C(1) << 40)

struct hs_epoch {
    uint64_t interval[HS_SESSIONS];     /* bytes; 0: there was no such session */
    uint64_t records;           /* that refer to it: free when 0 and not current */
};

struct hs_epochs {
    enum hs_memory_use use;
    struct hs_epoch *list;
    uint32_t count, capacity;
    uint32_t current;           /* of what is allocated now; there is one after the first rb_hs_epoch_enter */
};

/* The longest interval at which what was drawn at `drawn_at` is a sample. */
float rb_hs_longest_interval(struct hs_random *random, double size, double drawn_at);

/* The sessions in which a record is a sample at these intervals. */
hs_session_set rb_hs_sessions_within(const uint64_t interval[HS_SESSIONS], hs_session_set sessions, float longest);

/* The epoch of these intervals, which may have been before; UINT32_MAX: no memory. What refers to it counts in `records`
 * before another is asked for. */
uint32_t rb_hs_epoch_of(struct hs_epochs *epochs, const uint64_t interval[HS_SESSIONS]);

/* These are the intervals from now on. false: no memory, the epoch is the one
 * that it was. */
bool rb_hs_epoch_enter(struct hs_epochs *epochs, const uint64_t interval[HS_SESSIONS]);

/* A record of `*epoch` is to be kept at the current intervals by the sessions
 * that have it, or at the longer ones that it is kept at already.  `*sessions`
 * become the sessions that still keep it, `*epoch` the epoch of their intervals.
 *
 * false: none of them keeps it; nothing is changed, the owner drops the record.
 *
 * Without memory for another epoch nothing is changed either, and no record of
 * such intervals is dropped: there are more of them than was wanted, but what
 * each stands for is right. */
bool rb_hs_lengthen(struct hs_epochs *epochs, float longest, hs_session_set *sessions, uint32_t *epoch);

/* The sessions whose intervals in the two epochs differ. */
hs_session_set rb_hs_epochs_differ(const struct hs_epochs *epochs, uint32_t one, uint32_t other, hs_session_set sessions);

#endif
