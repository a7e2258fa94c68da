/* See process/walks.h. */
#include "heap_sampler/process/walks.h"

enum { PPM = 1000000,
       GROWTH_PART = 8,
       GROWTH_LEAST_MIB = 4,
       GROWN_TIMES = 4 };

static bool
grown_p(const struct hs_walk_budget *budget, uint64_t resident_mib)
{
    uint64_t part = budget->resident_mib / GROWTH_PART;
    return budget->last_ns && resident_mib >= budget->resident_mib + (part > GROWTH_LEAST_MIB ? part : GROWTH_LEAST_MIB);
}

bool
rb_hs_walk_affordable_p(const struct hs_walk_budget *budget, uint64_t elapsed_ns, uint64_t ppm, uint64_t first_ns, uint64_t resident_mib)
{
    uint64_t next = budget->last_ns ? budget->last_ns : first_ns;
    double allowed = (double)elapsed_ns * (double)ppm / PPM;
    if (grown_p(budget, resident_mib)) allowed *= GROWN_TIMES;
    return (double)(budget->spent_ns + next) <= allowed;
}

void
rb_hs_walk_spend(struct hs_walk_budget *budget, uint64_t ns, uint64_t hold_up_ns, uint64_t resident_mib)
{
    budget->spent_ns += ns + hold_up_ns;
    budget->last_ns = ns;
    budget->resident_mib = resident_mib;
}
