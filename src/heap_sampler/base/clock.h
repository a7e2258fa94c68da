#ifndef HEAP_SAMPLER_BASE_CLOCK_H
#define HEAP_SAMPLER_BASE_CLOCK_H
/* The time. [malloc] */
#include <stdint.h>
#include <time.h>

static inline uint64_t
hs_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Nanoseconds since 1970. */
#define rb_hs_now_ns() hs_clock_ns(CLOCK_REALTIME)
/* Nanoseconds of a clock that never goes back. */
#define rb_hs_steady_ns() hs_clock_ns(CLOCK_MONOTONIC)
/* Nanoseconds of CPU time that the process has used: a system call. */
#define rb_hs_cpu_ns() hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID)
/* Nanoseconds of CPU time that this thread has used: a system call. Another program's turn does not count. */
#define rb_hs_thread_cpu_ns() hs_clock_ns(CLOCK_THREAD_CPUTIME_ID)
/* Seconds of a clock that never goes back: no system call, and right to some milliseconds. */
#define rb_hs_coarse_seconds() ((int64_t)(hs_clock_ns(CLOCK_MONOTONIC_COARSE) / 1000000000))

#define HS_MS_NS UINT64_C(1000000)      /* nanoseconds of a millisecond */

#endif
