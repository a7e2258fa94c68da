#include "heap_sampler/base/clock.h"

#include <time.h>

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
