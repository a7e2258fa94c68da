#ifndef HEAP_SAMPLER_SAMPLING_AUTOMATIC_H
#define HEAP_SAMPLER_SAMPLING_AUTOMATIC_H
/*
 * interval=auto and malloc=auto: store/pace.h says how long the interval of the
 * main session is to be, this is when it is asked and what follows from it.
 *
 * *Slots*: it is asked after some samples, after some free lists, and at the end
 * of each mark.  The interval gets longer at once: lists that are cut remember at
 * which one.  It gets shorter where all lists are cut anew, so that there is no
 * slot that was not drawn at it:
 *
 *     at the end of a mark    the sweep that follows clears every cache before anything is allocated
 *     in a job                at a safe point; there it waits for the other Ractors.  For programs whose GCs are rare
 *
 * *Malloc*: it is asked where jemalloc's settings can be changed, which is never
 * inside malloc: where stacks are named (at ends of marks, and in the job that
 * many samples ask for), and in the job of slots.
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/store/epochs.h"

/* Samples of slots of the main session are free to take what the budget allows, from now on; or no longer. [gvl] */
void rb_hs_automatic(bool on);
bool rb_hs_automatic_p(void);                /* [any] */

/* A free list was installed. [vm] */
void rb_hs_automatic_list(void);
/* Around each sample; `sessions`: those that keep it. [vm]; the second [write] */
uint64_t rb_hs_automatic_sample_begins(void);
void rb_hs_automatic_sample_ends(uint64_t began, hs_session_set sessions);
/* At the end of marking; looking for the dead began at this moment. [gc] [write] */
void rb_hs_automatic_at_mark(uint64_t began);

/* The same for samples of malloc. [gvl] */
void rb_hs_malloc_automatic(bool on);
/* [malloc] */
bool rb_hs_malloc_automatic_p(void);
/* Have so many samples been taken that it should be asked? [malloc] */
bool rb_hs_malloc_automatic_due(uint64_t samples);
/* Naming took so long. [vm] */
void rb_hs_malloc_automatic_work(uint64_t ns);
/* Take the interval that the budget pays for now. [vm] [free] */
void rb_hs_malloc_follow_pace(void);

#endif
