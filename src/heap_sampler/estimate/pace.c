/* See estimate/pace.h. */
#include "heap_sampler/estimate/pace.h"
#include "heap_sampler/estimate/epochs.h"

#include <math.h>

/* Each stretch of time begins with so many samples: the number of fewer is mostly chance. */
static const double FEW = 32;
/* CPU time after which too low a cost is believed. */
static const uint64_t CALM_NS = 250000000;

void
rb_hs_pace_cost(struct hs_pace *pace, double ns)
{
    const double weight = 1.0 / 64;
    if (ns > 10 * pace->sample_ns) ns = 10 * pace->sample_ns;
    pace->sample_ns += (ns - pace->sample_ns) * weight;
}

static uint64_t
changed(struct hs_pace *pace, uint64_t interval, uint64_t cpu_ns)
{
    pace->since_ns = cpu_ns;
    pace->samples = 0;
    return interval;
}

static uint64_t
lengthened(uint64_t interval, double times)
{
    while (times > 1 && interval <= HS_INTERVAL_MAX / 2) {
        interval *= 2;
        times /= 2;
    }
    return interval;
}

uint64_t
rb_hs_pace_next(struct hs_pace *pace, uint64_t interval, uint64_t cpu_ns, bool full, bool roomy)
{
    if (cpu_ns < pace->since_ns) pace->since_ns = cpu_ns;       /* a child's clock begins anew */
    double stretch = (double)(cpu_ns - pace->since_ns), spent = (double)pace->samples * pace->sample_ns;
    double allowed = stretch * pace->budget, credit = FEW * pace->sample_ns;
    if (full) return changed(pace, lengthened(interval, 2), cpu_ns);
    if (spent > allowed + credit) return changed(pace, lengthened(interval, fmin(spent / (allowed + credit / 2), 16)), cpu_ns);
    if (cpu_ns - pace->since_ns < CALM_NS) return interval;
    if (spent < allowed / 4 && roomy && interval >= 2 * HS_PACE_SHORTEST) interval /= 2;
    return changed(pace, interval, cpu_ns);
}
