#ifndef HEAP_SAMPLER_EVENTS_PROBES_H
#define HEAP_SAMPLER_EVENTS_PROBES_H
/*
 * USDT probes, for tracers of the system such as bpftrace:
 *
 *     otel_memory:alloc(id, size, weighted_bytes)    a sample of the process's own session is born, or counts more
 *                                                    from now on, since others are not followed any more
 *     otel_memory:free(id)                           it has died, or is not followed any more
 *
 * ids are those of listeners (include/ruby/heap_sampler.h).  A tracer that
 * attaches counts up the semaphore of a probe; while it is 0 a sample costs one
 * load and one branch.  Without sys/sdt.h there are none.
 *
 * [malloc]: also in GC, and inside malloc(3).
 */
#include <stdbool.h>
#include <stdint.h>
#include "ruby/internal/config.h"

#ifdef HAVE_SYS_SDT_H
extern volatile unsigned short otel_memory_alloc_semaphore, otel_memory_free_semaphore;

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
#else
static inline bool
hs_alloc_traced_p(void)
{
    return false;
}
static inline bool
hs_free_traced_p(void)
{
    return false;
}
#endif

/* Does this build have them? */
bool rb_hs_probes_p(void);
/* A sample of the main session, of `size` bytes, kept at this interval. */
void rb_hs_probe_alloc(uint64_t id, uint64_t size, uint64_t interval);
void rb_hs_probe_free(uint64_t id);

/* usdt=on: a listener that attaches makes sampling start. */
void rb_hs_probes_start_sampling(bool wanted);
/* Sampling is to start, or what was started so is to end: there is a listener now, or none any more. */
bool rb_hs_probes_start_p(void);
bool rb_hs_probes_end_p(void);
void rb_hs_probes_started(bool started);

#endif
