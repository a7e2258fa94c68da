#ifndef HEAP_SAMPLER_PROCESS_WALKS_H
#define HEAP_SAMPLER_PROCESS_WALKS_H
/*
 * Which periodic profiles say who keeps what: why=.
 *
 * why=N: each N-th.  why=1%: as many as a share of the time pays for, and
 * more where memory has grown (walk_budget.h).  What a walk costs is its child's
 * time and what Ruby code stood still for; the next is taken to cost what the last
 * one did, and the first a third of a microsecond a slot.  By a share none is made where Ruby code would stand still for long: the
 * kernel copies the page tables of all resident memory, objects or not.
 *
 * Contract: the thread of periodic profiles.
 */
#include <stdbool.h>
#include <stdint.h>

/* Is the next profile to say it? */
bool rb_hs_walk_due_p(void);
/* A walk took so long, with or without an answer; 0: none was made. `hold_up_ns`: so long Ruby code stood still. */
void rb_hs_walk_took(uint64_t ns, uint64_t hold_up_ns);
/* Periodic profiles begin; in a child, too. [gvl] */
void rb_hs_walks_begin(void);

#endif
