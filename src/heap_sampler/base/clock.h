#ifndef HEAP_SAMPLER_BASE_CLOCK_H
#define HEAP_SAMPLER_BASE_CLOCK_H
/* The time. [malloc] */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds since 1970. */
uint64_t rb_hs_now_ns(void);
/* Nanoseconds of a clock that never goes back. */
uint64_t rb_hs_steady_ns(void);
/* Nanoseconds of CPU time that the process has used: a system call. */
uint64_t rb_hs_cpu_ns(void);
/* Seconds of a clock that never goes back: no system call, and right to some
 * milliseconds. */
int64_t rb_hs_coarse_seconds(void);

#define HS_MS_NS UINT64_C(1000000)      /* nanoseconds of a millisecond */

/* So much later than now, by CLOCK_MONOTONIC. */
void rb_hs_deadline(struct timespec *time, uint64_t ms);
/* Times of one clock. */
void rb_hs_add_ms(struct timespec *time, uint64_t ms);
bool rb_hs_before_p(const struct timespec *a, const struct timespec *b);

#endif
