#ifndef HEAP_SAMPLER_STORE_PROBES_H
#define HEAP_SAMPLER_STORE_PROBES_H
/*
 * USDT probes, for tracers of the system such as bpftrace, of the process's own session:
 *
 *     otel_memory:alloc(id, size, weighted_bytes)    a sample was allocated, or counts more from now on
 *     otel_memory:free(id)                           it was freed, or is not followed any more
 *
 * ids are the same as for listeners (include/ruby/heap_sampler.h).  A tracer that attaches counts up the semaphore of a
 * probe; while it is 0 a sample costs one load and one branch.  Without sys/sdt.h there are none.  usdt=on looks at the
 * semaphores when a mark ends: a process without GCs allocates next to nothing.
 *
 * [malloc]: also in GC, and inside malloc(3).
 */
#include <stdbool.h>
#include <stdint.h>
#include "ruby/internal/config.h"

#ifdef HAVE_SYS_SDT_H
enum { HS_PROBES = true };      /* does this build have them? */
extern volatile unsigned short otel_memory_alloc_semaphore, otel_memory_free_semaphore;
#else
enum { HS_PROBES = false,
       otel_memory_alloc_semaphore = 0,
       otel_memory_free_semaphore = 0 };
#endif

static inline bool
hs_alloc_traced_p(void)
{
    return __builtin_expect(otel_memory_alloc_semaphore, 0);
}
static inline bool
hs_free_traced_p(void)
{
    return __builtin_expect(otel_memory_free_semaphore, 0);
}

/* A sample of the main session, of `size` bytes, kept at this interval. */
void rb_hs_probe_alloc(uint64_t id, uint64_t size, uint64_t interval);
void rb_hs_probe_free(uint64_t id);

/* usdt=on: a tracer that attaches makes sampling start. Written by [gvl]. */
struct hs_usdt {
    bool wanted, started;
};
extern struct hs_usdt rb_hs_usdt;

/* Sampling is to start, or what was started so is to end: there is a tracer now, or none any more. */
static inline bool
hs_usdt_turn_p(void)
{
    if (rb_hs_usdt.started) return !hs_alloc_traced_p() && !hs_free_traced_p();
    return rb_hs_usdt.wanted && hs_alloc_traced_p();
}

#endif
