#include "heap_sampler/base/clock.h"

static uint64_t
ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t
rb_hs_now_ns(void)
{
    return ns_of(CLOCK_REALTIME);
}

uint64_t
rb_hs_steady_ns(void)
{
    return ns_of(CLOCK_MONOTONIC);
}

uint64_t
rb_hs_cpu_ns(void)
{
    return ns_of(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t
rb_hs_coarse_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

void
rb_hs_add_ms(struct timespec *time, uint64_t ms)
{
    uint64_t ns = (uint64_t)time->tv_nsec + ms % 1000 * 1000000;
    time->tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    time->tv_nsec = (long)(ns % 1000000000);
}

bool
rb_hs_before_p(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

void
rb_hs_deadline(struct timespec *time, uint64_t ms)
{
    clock_gettime(CLOCK_MONOTONIC, time);
    rb_hs_add_ms(time, ms);
}
