/* See sampling/gcs.h. */
#include "heap_sampler/sampling/gcs.h"

static const double PPM = 1e6;
static const double HOUR_NS = 3600e9;

static uint64_t
until_paid(const struct hs_budget *budget, uint64_t now_ns, double share, double cost_ns)
{
    double elapsed_ns = (double)(now_ns - budget->since_ns), needed_ns = cost_ns / share;
    if (needed_ns <= elapsed_ns) return 0;
    return needed_ns - elapsed_ns < (double)INT64_MAX ? (uint64_t)(needed_ns - elapsed_ns) + 1 : INT64_MAX;
}

uint64_t
rb_hs_budget_wait(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns)
{
    return ppm ? until_paid(budget, now_ns, ppm / PPM, budget->gc_ns + budget->walk_ns + price_ns) : INT64_MAX;
}

bool
rb_hs_budget_gc_due_p(const struct hs_budget *budget, uint64_t now_ns, uint32_t ppm, double price_ns)
{
    return !rb_hs_budget_wait(budget, now_ns, ppm, price_ns) && !until_paid(budget, now_ns, ppm / PPM / 2, budget->gc_ns + price_ns);
}

void
rb_hs_budget_forget(struct hs_budget *budget, uint64_t now_ns)
{
    double elapsed_ns = (double)(now_ns - budget->since_ns);
    if (elapsed_ns <= HOUR_NS) return;
    budget->since_ns = now_ns - (uint64_t)HOUR_NS;
    budget->gc_ns *= HOUR_NS / elapsed_ns;
    budget->walk_ns *= HOUR_NS / elapsed_ns;
}
