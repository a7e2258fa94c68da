#ifndef HEAP_SAMPLER_SLOTS_AUTOMATIC_H
#define HEAP_SAMPLER_SLOTS_AUTOMATIC_H
/*
 * interval=auto of slots: estimate/pace.h says how long the interval is to be,
 * this is when it is asked and what follows from it.
 *
 * It is asked after some samples, after some free lists, and at the end of each
 * mark.  The interval gets longer at once: lists that are cut remember at which
 * one.  It gets shorter where all lists are cut anew, so that there is no slot
 * that was not drawn at it:
 *
 *     at the end of a mark    the sweep that follows clears every cache before anything is allocated
 *     in a job                at a safe point; there it waits for the other Ractors.  For programs whose GCs are rare
 *
 * The job asks for malloc as well (malloc/automatic.h).
 */
#include <stdbool.h>
#include <stdint.h>
#include "heap_sampler/estimate/epochs.h"

/* Samples of the main session are free to take what the budget allows, from now on; or no longer. [gvl] */
void rb_hs_automatic(bool on);
bool rb_hs_automatic_p(void);                /* [any] */

/* A free list was installed. [vm] */
void rb_hs_automatic_list(void);
/* Around each sample; `sessions`: those that keep it. [vm]; the second [write] */
uint64_t rb_hs_automatic_sample_begins(void);
void rb_hs_automatic_sample_ends(uint64_t began, hs_session_set sessions);
/* At the end of marking; looking for the dead began at this moment. [gc] [write] */
void rb_hs_automatic_at_mark(uint64_t began);

#endif
