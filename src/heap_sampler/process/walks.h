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

/*
 * When a share of the time pays for a walk: why=1%.
 *
 * A walk of a process that has just begun says little, and on a busy machine it may cost what the share gives in a minute.
 * So where resident memory has grown by an eighth since the last walk, which is when somebody will want to know who keeps it,
 * walks may have taken four times the share.  That does not happen often: to ten times the memory in at most 20 walks.
 *
 * Plain data; no MRI header.  Contract: the thread of periodic profiles.
 */

struct hs_walk_budget {
    uint64_t spent_ns;
    uint64_t last_ns;           /* that the last walk took; 0: there was none */
    uint64_t resident_mib;      /* at that time */
};

/* `first_ns`: what a walk is taken to cost that none has shown; `ppm` is the share, in millionths of `elapsed_ns`. */
bool rb_hs_walk_affordable_p(const struct hs_walk_budget *budget, uint64_t elapsed_ns, uint64_t ppm, uint64_t first_ns, uint64_t resident_mib);
void rb_hs_walk_spend(struct hs_walk_budget *budget, uint64_t ns, uint64_t hold_up_ns, uint64_t resident_mib);

/* Is the next profile to say it? */
bool rb_hs_walk_due_p(void);
/* A walk took so long, with or without an answer; 0: none was made. `hold_up_ns`: so long Ruby code stood still. */
void rb_hs_walk_took(uint64_t ns, uint64_t hold_up_ns);
/* Periodic profiles begin; in a child, too. [gvl] */
void rb_hs_walks_begin(void);

#endif
