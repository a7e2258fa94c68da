#ifndef HEAP_SAMPLER_SLOTS_INTERVALS_H
#define HEAP_SAMPLER_SLOTS_INTERVALS_H
/*
 * The intervals at which slots are sampled: what the sessions ask for, and how
 * they get longer where there are too many samples.  [write]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "heap_sampler/sites/sampler.h"

/* Settle on what the sessions ask for now. Free lists that were cut before
 * remember the interval they were drawn at. false: no memory; all goes on as
 * before, so the caller takes back what it has changed. */
bool rb_hs_enter_epoch(void);
/* false: no memory, the interval is as it was. */
bool rb_hs_change_interval(struct hs_session *session, uint64_t interval);
/* While there are too many samples, the session with the most takes fewer. */
void rb_hs_widen_intervals(void);

/* What a record and a site take at most in a snapshot, with the rows that they
 * become, bytes (asserted in profile/snapshot.c). */
enum { HS_SNAPSHOT_RECORD = 376,
       HS_SNAPSHOT_SITE = 332 };

#endif
