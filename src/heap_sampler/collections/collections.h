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
#include "heap_sampler/collections/asked.h"
#include "heap_sampler/collections/gc_times.h"

/* The times are Unix time, in nanoseconds, reckoned back from now. [tables] */
void rb_hs_gc_times_copy(struct hs_gc_times *copy);

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
