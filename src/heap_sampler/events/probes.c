/* See events/probes.h. */
#include "heap_sampler/events/probes.h"
#include "heap_sampler/estimate/draw.h"

static bool starts_sampling, started;

#ifdef HAVE_SYS_SDT_H

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* Where tracers look for them. */
__attribute__((section(".probes"), used)) volatile unsigned short otel_memory_alloc_semaphore;
__attribute__((section(".probes"), used)) volatile unsigned short otel_memory_free_semaphore;

bool
rb_hs_probes_p(void)
{
    return true;
}

void
rb_hs_probe_alloc(uint64_t id, uint64_t size, uint64_t interval)
{
    uint64_t bytes = (uint64_t)(rb_hs_weight((double)size, (double)interval) * (double)size + 0.5);
    STAP_PROBE3(otel_memory, alloc, id, size, bytes);
}

void
rb_hs_probe_free(uint64_t id)
{
    STAP_PROBE1(otel_memory, free, id);
}

#else

bool
rb_hs_probes_p(void)
{
    return false;
}

void
rb_hs_probe_alloc(uint64_t id, uint64_t size, uint64_t interval)
{
    (void)id, (void)size, (void)interval;
}

void
rb_hs_probe_free(uint64_t id)
{
    (void)id;
}

#endif

void
rb_hs_probes_start_sampling(bool wanted)
{
    starts_sampling = wanted;
}

bool
rb_hs_probes_start_p(void)
{
    return starts_sampling && !started && hs_alloc_traced_p();
}

bool
rb_hs_probes_end_p(void)
{
    return started && !hs_alloc_traced_p() && !hs_free_traced_p();
}

void
rb_hs_probes_started(bool is)
{
    started = is;
}
