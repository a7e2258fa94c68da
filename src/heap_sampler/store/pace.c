/* See store/pace.h. */
#include "heap_sampler/store/pace.h"

#include <math.h>

/* This part of the time that passes counts as CPU time, where less was used. */
static const double IDLE = 0.2;
static const double SAVED_MOST_NS = 1e9 * HS_PACE_BUDGET;
/* Windows. */
static const double LONG_NS = 250e6, SHORT_NS = 50e6;
/* The number of fewer samples is mostly chance. */
static const uint64_t FEW = 16;
/* What samples are to cost once the interval got shorter, as a part of the budget. */
static const double AIM = 0.75;
static const uint32_t TIMED_MOST = 32, TIMED_GUESS = 16;

void
rb_hs_pace_begin(struct hs_pace *pace, double sample_ns, struct hs_pace_time now)
{
    *pace = (struct hs_pace){.budget = HS_PACE_BUDGET, .sample_ns = sample_ns, .timed = TIMED_GUESS, .last = now};
}

void
rb_hs_pace_cost(struct hs_pace *pace, double ns)
{
    if (ns > 10 * pace->sample_ns) ns = 10 * pace->sample_ns;
    if (pace->timed < TIMED_MOST) pace->timed++;
    pace->sample_ns += (ns - pace->sample_ns) / pace->timed;
}

void
rb_hs_pace_work(struct hs_pace *pace, double ns)
{
    pace->work_ns += ns;
    pace->saved_ns -= ns;
}

static double
passed(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) : 0;     /* a child's CPU time begins anew */
}

/* What samples cost at the longest interval is no debt: it gets no longer. While a program starts they cost most. */
static double
debt_most(uint64_t interval)
{
    return interval < HS_PACE_LONGEST ? SAVED_MOST_NS : 0;
}

static void
earn_and_pay(struct hs_pace *pace, struct hs_pace_time now, uint64_t interval)
{
    double ns = fmax(passed(pace->last.cpu_ns, now.cpu_ns), IDLE * passed(pace->last.steady_ns, now.steady_ns));
    pace->last = now;
    pace->window_ns += ns;
    pace->saved_ns -= (double)(pace->samples - pace->counted) * pace->sample_ns;
    pace->counted = pace->samples;
    pace->saved_ns = fmax(fmin(pace->saved_ns + ns * pace->budget, SAVED_MOST_NS), -debt_most(interval));
}

static uint64_t
new_window(struct hs_pace *pace, uint64_t interval)
{
    if (pace->window_ns > SHORT_NS) pace->share = ((double)pace->samples * pace->sample_ns + pace->work_ns) / pace->window_ns;
    pace->samples = pace->counted = 0;
    pace->window_ns = pace->work_ns = 0;
    return interval;
}

uint64_t
rb_hs_pace_shortest(size_t bytes)
{
    enum { STEPS = 5 };         /* doublings from HS_PACE_SHORTEST to HS_PACE_LONGEST */
    size_t half = HS_PACE_BYTES / 2, over = bytes > half ? bytes - half : 0, steps = over / (half / STEPS);
    return HS_PACE_SHORTEST << (steps < STEPS ? steps : STEPS);
}

static uint64_t
lengthened(uint64_t interval, double times)
{
    for (; times > 1 && interval <= HS_PACE_LONGEST / 2; times /= 2) interval *= 2;
    return interval;
}

static uint64_t
shortened(uint64_t interval, double times, uint64_t least)
{
    for (; times >= 2 && interval / 2 >= least; times /= 2) interval /= 2;
    return interval;
}

/* How many times as many samples as there may have been could be paid for. */
static double
affordable(const struct hs_pace *pace)
{
    double most = (double)pace->samples + 2 * sqrt((double)pace->samples) + 3;
    return (AIM * pace->window_ns * pace->budget - pace->work_ns) / (most * pace->sample_ns);
}

uint64_t
rb_hs_pace_next(struct hs_pace *pace, uint64_t interval, struct hs_pace_time now, uint64_t least, bool may_get_shorter)
{
    earn_and_pay(pace, now, interval);
    double spent = (double)pace->samples * pace->sample_ns, earned = pace->window_ns * pace->budget;
    pace->eager = false;
    if (interval < least) return new_window(pace, least);
    if (pace->saved_ns < 0) {
        if (spent > earned && pace->samples >= FEW) return new_window(pace, lengthened(interval, fmin(spent / earned, 16)));
        if (pace->work_ns > earned / 2) return new_window(pace, lengthened(interval, 2));
    }
    if (pace->window_ns < SHORT_NS) return interval;
    uint64_t next = pace->saved_ns >= 0 ? shortened(interval, affordable(pace), least) : interval;
    pace->eager = next < interval && !may_get_shorter;
    if (pace->eager) return interval;
    return next < interval || pace->window_ns > LONG_NS ? new_window(pace, next) : interval;
}

uint64_t
rb_hs_pace_least(struct hs_pace *pace, size_t bytes, uint64_t interval, uint64_t thinnings)
{
    uint64_t least = rb_hs_pace_shortest(bytes);
    if (thinnings != pace->thinnings) pace->capped_at = interval;
    pace->thinnings = thinnings;
    if (least == HS_PACE_SHORTEST) pace->capped_at = 0;
    return least > pace->capped_at ? least : pace->capped_at;
}
