#ifndef HEAP_SAMPLER_PROCESS_WALK_BUDGET_H
#define HEAP_SAMPLER_PROCESS_WALK_BUDGET_H
/*
 * When a share of the time pays for a walk: why=1%.
 *
 * A walk of a process that has just begun says little, and on a busy machine it may cost what the share gives in a minute.
 * So where resident memory has grown by an eighth since the last walk, which is when somebody will want to know who keeps it,
 * walks may have taken four times the share.  That does not happen often: to ten times the memory in at most 20 walks.
 *
 * Plain data; no MRI header.  Contract: the thread of periodic profiles.
 */
#include <stdbool.h>
#include <stdint.h>

struct hs_walk_budget {
    uint64_t spent_ns;
    uint64_t last_ns;           /* that the last walk took; 0: there was none */
    uint64_t resident_mib;      /* at that time */
};

/* `first_ns`: what a walk is taken to cost that none has shown; `ppm` is the share, in millionths of `elapsed_ns`. */
bool rb_hs_walk_affordable_p(const struct hs_walk_budget *budget, uint64_t elapsed_ns, uint64_t ppm, uint64_t first_ns, uint64_t resident_mib);
void rb_hs_walk_spend(struct hs_walk_budget *budget, uint64_t ns, uint64_t hold_up_ns, uint64_t resident_mib);

#endif
